import { setTimeout as wait } from 'node:timers/promises';

const lookEveryMs = 50;

/** Resolves with the first truthy result of `look`. Fails after `withinMs`, naming what never happened. */
export async function until(what, look, withinMs, everyMs = lookEveryMs) {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadlineMs) throw new Error(`${what} did not happen within ${withinMs} ms`);
    await wait(everyMs);
  }
}

/** Resolves like `promise`, or fails after `withinMs`, naming what never happened. */
export async function within(what, promise, withinMs) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what} did not happen within ${withinMs} ms`)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
