import { until, within } from '../waiting.js';

const reachMs = 15_000;
const finalMs = 40_000;

/**
 * Records one event, kills a node, the database or both when the event has reached a point, and starts them again. Then
 * checks whether the event was recorded and how many requests the receiver got.
 */
export async function stopAndKill(world, random, name, { arm, reached, requests, isRecorded }) {
  const [node] = world.nodes;
  const victim = random.pick(['node', 'database', 'both']);
  const kind = `${victim} killed ${name}`;
  const number = world.producer.offered;
  const stopped = arm();
  const sending = world.producer.offer(1);
  const link = await within(`the point ${name}`, stopped, reachMs);
  await reached?.(number);
  await world.fault(kind, async () => {
    await Promise.all([victim !== 'database' && node.kill(), victim !== 'node' && world.cluster.kill()]);
    link?.cut();
    if (victim !== 'node') await world.cluster.start();
    if (victim !== 'database') await node.start();
    else await node.ready();
  });
  await sending;
  const event = await world.findEvent(number);
  const isExpected = isRecorded || world.producer.acknowledged[number] !== undefined;
  world.expect(
    `${kind}: the event is ${isExpected ? '' : 'not '}recorded`,
    isExpected === (event !== undefined),
  );
  if (event === undefined) return;
  await until('the end of the delivery', () => world.isFinal(event), finalMs);
  const [{ arrived }] = await world.receivers.report();
  // A node that survives either writes its outcome after all, or has lost its lease in the meantime: both are correct.
  const isRight = victim === 'database' ? arrived[number] <= requests : arrived[number] === requests;
  world.expect(`${kind}: the receiver gets ${requests} requests (it got ${arrived[number]})`, isRight);
}
