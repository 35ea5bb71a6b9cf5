import { makeEvent, spread } from './load.js';
import { startServer } from './server.js';

const total = 100_000;
const batch = 100;

/** Measures recording through the platform listener without webhooks. */
export async function benchRecord(print) {
  const server = await startServer();
  try {
    const batches = Array.from({ length: total / batch }, () =>
      Array.from({ length: batch }, () => makeEvent()),
    );
    await spread(50, 8, (index) => server.record(batches[index]));
    const startedMs = performance.now();
    await spread(batches.length - 1, 8, (index) => server.record(batches[index]));
    const perSecond = Math.round(((batches.length - 1) * batch * 1000) / (performance.now() - startedMs));
    print('recording, batches of 100, no webhook', `${perSecond} events/s`, 'aim: at least 15,000');
  } finally {
    await server.stop();
  }
}
