import { setTimeout as wait } from 'node:timers/promises';

const memoryMbMax = 350;
const readersCount = 4;

/**
 * Offers more than the service can record, deliver and serve, and then lets it recover. The database is slow as well, so
 * that requests pile up on any machine.
 */
export const overload = {
  name: 'overload',
  summary: 'load beyond capacity: bounded memory, refusals with 503 and 429, and a full recovery',
  shape: () => ({
    nodes: [{ POSTHORN_RATE_LIMIT_READS: '5' }, {}],
    load: { perSecond: Number.POSITIVE_INFINITY, batchMax: 40, payloadMax: 16_000, inFlightMax: 300 },
  }),
  isQuiet: true,
  async run(world, random, { forMs = 2_500 }) {
    const reader = await world.openReader();
    // The node that is overloaded also limits readers. The other one shows the ledger.
    world.producer.only([world.nodes[0]]);
    world.producer.start();
    const untilMs = performance.now() + forMs;
    const isOver = () => performance.now() >= untilMs;
    let peak = 0;
    await world.receivers.behave('/hook-1', 'slow');
    await world.fault('load beyond capacity', async () => {
      const delayMs = random.between(50, 150);
      world.proxy.delayMs = () => delayMs;
      const polling = Array.from({ length: readersCount }, () => reader.poll(isOver));
      while (!isOver()) {
        peak = Math.max(peak, ...world.nodes.map((node) => node.memoryMb.now));
        await wait(100);
      }
      world.proxy.delayMs = () => 0;
      await world.receivers.behave('/hook-1', 'ok');
      const statuses = new Set((await Promise.all(polling)).flatMap((seen) => [...seen]));
      await reader.close();
      const wrong = [...statuses].filter((status) => ![200, 429, 503].includes(status));
      world.expect('a reader beyond its rate gets 429', statuses.has(429));
      world.expect(`readers get 200, 429 or 503 (and ${wrong.join(', ')})`, wrong.length === 0);
    });
    world.expect('a producer beyond capacity gets 503', world.producer.statuses.has(503));
    world.expect(`memory stays below ${memoryMbMax} MB (it had ${peak} MB)`, peak <= memoryMbMax);
  },
};
