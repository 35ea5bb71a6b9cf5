import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CellProducer } from '../cell-producer.js';
import { Cluster } from '../cluster.js';
import { Node } from '../node.js';
import { Relocation } from '../relocation.js';
import { template } from '../template.js';

const tries = 5;
const steps = ['Copying…', 'Stopping…', 'Copying the rest…', 'Switching…', 'Cleaning up…'];

/** Moves the organization to another cell under load, and breaks one part during one of the steps. */
export const move = {
  name: 'move',
  summary: 'an organization moved to another cell, and the command, a node or a database killed meanwhile',
  shape: () => ({ nodes: [{ POSTHORN_CELL: 'east' }] }),
  isQuiet: true,
  async run(world, random) {
    const east = { cluster: world.cluster, node: world.nodes[0] };
    const west = await openCell(world);
    const cells = { east: east.node.platformUrl, west: west.node.platformUrl };
    world.producer = new CellProducer(cells.east, cells, 200);
    world.producer.start();
    await wait(random.between(1_000, 3_000));

    const relocation = new Relocation(world, east, west);
    const watching = relocation.watch();
    const command = relocation.start();
    await command.until(random.pick(steps));
    await wait(random.between(0, 400));
    await breakOne(world, random, { east, west, command });
    const hasMoved = (await command.end()) === 0;
    if (!hasMoved && random.next() < 0.3) await abort(world, relocation);
    if (!hasMoved) await complete(relocation);
    relocation.isOver = true;
    await watching;
    await wait(1_000);
    await relocation.check();
  },
};

/**
 * Starts the cell that the organization moves to. Its node is the last one in the list, so the ledger is read from this
 * cell.
 */
async function openCell(world) {
  const cluster = await Cluster.at(join(world.path, 'west'));
  cluster.copy(await template());
  await cluster.start();
  world.closeLater(() => cluster.kill());
  const settings = { DATABASE_URL: cluster.url, POSTHORN_CELL: 'west' };
  const node = await Node.prepare('node-west', world.path, settings);
  await node.start();
  world.nodes.push(node);
  return { cluster, node };
}

function breakOne(world, random, { east, west, command }) {
  const restart = async ({ cluster, node }) => {
    await cluster.kill();
    await wait(random.between(0, 500));
    await cluster.start();
    world.proxy.heal();
    await node.ready();
  };
  const renew = async ({ node }) => {
    await node.kill();
    await wait(random.between(0, 500));
    await node.start();
  };
  const faults = {
    'the moving command killed': () => command.kill(),
    'the node of the old cell killed': () => renew(east),
    'the node of the new cell killed': () => renew(west),
    'the database of the old cell killed': () => restart(east),
    'the database of the new cell killed': () => restart(west),
  };
  const kind = random.pick(Object.keys(faults));
  return world.fault(kind, faults[kind]);
}

/** Aborts the move. If that is too late, the command says so. */
async function abort(world, relocation) {
  const aborting = relocation.start('--abort');
  const isAborted = (await aborting.end()) === 0;
  world.expect(
    'a move that cannot be aborted has switched',
    isAborted || /already left/.test(aborting.output),
  );
  if (isAborted)
    world.expect('after an abort, the organization works in its old cell', await relocation.worksIn('east'));
}

/** Runs the command again until it succeeds, as the guide says. */
async function complete(relocation) {
  for (let tried = 1; tried <= tries; tried += 1) {
    const command = relocation.start();
    if ((await command.end()) === 0) return;
    if (tried === tries) throw new Error(`the move did not succeed: ${command.output}`);
  }
}
