export const organization = 'ORG-demo';

let number = 0;

export function makeEvent(fields = {}) {
  number += 1;
  return {
    type: 'agent.run.completed',
    organization_id: organization,
    workspace_id: `WS-${number % 50}`,
    actor: { type: 'agent', id: `AGT-${number % 97}` },
    subject: { type: 'run', id: `RUN-${number}` },
    payload: { service_line_id: 'LIN-1', duration_ms: 48213, tokens_used: 15377, outcome: 'success' },
    ...fields,
  };
}

/** Calls `work` `count` times, with up to `width` calls at once. */
export async function spread(count, width, work) {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) {
        next += 1;
        await work(next);
      }
    }),
  );
}

const batch = 100;

/** Records `count` events in batches, as fast as four producers can. */
export const recordMany = (server, count, fields) =>
  spread(count / batch, 4, () => server.record(Array.from({ length: batch }, () => makeEvent(fields))));

/** Records `count` events at a steady pace, one event per request. */
export async function pace(server, count, perSecond, fields = {}) {
  const startedMs = performance.now();
  const records = [];
  for (let sent = 0; sent < count; ) {
    const dueCount = Math.min(count, Math.floor(((performance.now() - startedMs) * perSecond) / 1000));
    for (; sent < dueCount; sent += 1) records.push(server.record([makeEvent(fields)]));
    await new Promise((next) => setTimeout(next, 2));
  }
  await Promise.all(records);
}

/** Records `count` events at a steady pace and returns how long each took to arrive. */
export async function steady(server, receiver, count, perSecond, fields = {}) {
  const { arrived } = await receiver.expect(count);
  await pace(server, count, perSecond, fields);
  await arrived;
  return (await receiver.report()).delays;
}
