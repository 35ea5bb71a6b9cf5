import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CellProducer } from '../cell-producer.js';
import { Cluster } from '../cluster.js';
import { Node } from '../node.js';
import { PostgresProxy } from '../proxy.js';
import { Relocation } from '../relocation.js';
import { template } from '../template.js';
import { until } from '../waiting.js';

const steps = ['Counting rows…', 'Stopping…', 'Copying…', 'Switching…', 'Activating…'];
const faketime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
const stepMs = 30_000;

/** Moves an organization to another cell under load, and breaks one part during one of the steps. */
export const move = {
  name: 'move',
  summary:
    'an organization moved to another cell, and the command, a node or a database killed, failed over or restored',
  shape: (random) => {
    // Each kind of fault in turn, so that a few seeds cover all.
    const kind = kinds[(random.seed - 1) % kinds.length];
    return {
      nodes: [{ POSTHORN_CELL: 'east' }],
      prepare: async (world) => {
        world.kind = kind;
        if (kind !== setBack || !existsSync(faketime)) return;
        world.clockFile = join(world.cluster.place, 'clock');
        writeFileSync(world.clockFile, '+0');
        world.cluster.env = {
          ...{ LD_PRELOAD: faketime, FAKETIME_TIMESTAMP_FILE: world.clockFile, FAKETIME_NO_CACHE: '1' },
          ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' },
        };
      },
    };
  },
  isQuiet: true,
  async run(world, random) {
    const east = { cluster: world.cluster, node: world.nodes[0], url: world.proxy.url, proxy: world.proxy };
    const west = await openCell(world, 'west');
    const cells = { east: east.node.platformUrl, west: west.node.platformUrl };
    world.producer = new CellProducer(cells.east, cells, 200);
    world.producer.start();
    await wait(random.between(1_000, 3_000));
    const relocation = new Relocation(world, east, west);
    await world.kind({ world, random, east, west, relocation });
    await wait(1_000);
    await relocation.check();
  },
};

/**
 * Starts the cell that the organization moves to. Its node is the last one in the list, so the ledger is read from this
 * cell.
 */
async function openCell(world, name, place = name) {
  const cluster = await Cluster.at(join(world.path, place));
  cluster.copy(await template());
  await cluster.start();
  const cell = { cluster };
  world.closeLater(() => cell.cluster.kill());
  cell.proxy = await PostgresProxy.open(cluster.socket);
  world.closeLater(() => cell.proxy.close());
  cell.url = cell.proxy.url;
  cell.node = await Node.prepare(`node-${place}`, world.path, {
    DATABASE_URL: cell.url,
    POSTHORN_CELL: name,
  });
  await cell.node.start();
  world.nodes.push(cell.node);
  return cell;
}

/** Kills the command, a node or a database during one of the steps. */
async function killed({ world, random, east, west, relocation }) {
  const command = relocation.start();
  await command.until(random.pick(steps));
  await wait(random.between(0, 400));
  const restart = async ({ cluster, node, proxy }) => {
    await cluster.kill();
    await wait(random.between(0, 500));
    await cluster.start();
    proxy.heal();
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
  await world.fault(kind, faults[kind]);
  const hasMoved = (await command.end()) === 0;
  if (hasMoved)
    world.expect('a command that succeeds has moved the organization', await relocation.worksIn('west'));
  else if (random.next() < 0.5) await abort(world, relocation);
  if (!hasMoved) await relocation.complete();
}

/** Aborts the move. If that is too late, the command says so. */
async function abort(world, relocation) {
  const aborting = relocation.start(['--abort']);
  const isAborted = (await aborting.end()) === 0;
  world.expect(
    `a move that cannot be aborted is over or has not begun: ${aborting.output}`,
    isAborted || /already works in|nothing to abort/.test(aborting.output),
  );
  if (isAborted)
    world.expect('after an abort, the organization works in its old cell', await relocation.worksIn('east'));
}

/**
 * Lets the new cell fail over to a standby that lacks the takeover: after the command was killed, or while it waits at
 * its end. No node of the new cell runs meanwhile: PostgreSQL itself would lose what such a node acknowledges.
 */
const failsOver = (isKilled) =>
  async function failedOver({ world, random, east, west, relocation }) {
    const standby = await west.cluster.standby(join(world.path, 'west-standby'));
    world.closeLater(() => standby.kill());
    west.proxy.heal();
    await west.node.ready();
    await west.node.stop();
    const command = relocation.start();
    const isActive = async () => (await relocation.stateIn('west')) === 'here';
    await command.until('Copying…');
    // The command waits for this lock before it can go on to the takeover.
    const lock = await east.cluster.connect();
    await lock.query('begin; select from posthorn.relocations for update');
    await until('the copy', async () => (await relocation.stateIn('west')) === 'arriving', stepMs, 5);
    await west.cluster.replicated(standby);
    await standby.stop();
    await lock.end();
    // A command that is not killed has decided that it is done, and waits before it looks once more.
    if (!isKilled) await command.until('Finishing…');
    await until('the takeover', async () => command.hasEnded || (await isActive()), stepMs, 5);
    await world.fault('failover of the new cell to a standby without the takeover', async () => {
      if (isKilled) await command.kill();
      await west.cluster.kill();
      await standby.start();
      await standby.promote();
      west.cluster = standby;
      west.proxy.target = standby.socket;
      west.proxy.breakAll();
      west.proxy.heal();
    });
    const hasMoved = (await command.end()) === 0;
    if (hasMoved)
      world.expect('a command that succeeds has moved the organization', await relocation.worksIn('west'));
    else if (random.next() < 0.5) await abort(world, relocation);
    if (!hasMoved) await relocation.complete();
    await west.node.start();
  };

/** Sets the clock of the old cell back while the rows are copied. */
async function setBack({ world, relocation }) {
  const command = relocation.start();
  await command.until('Stopping…');
  await world.fault('the clock of the old cell set back', async () => {
    if (world.clockFile) writeFileSync(world.clockFile, '-1.5');
  });
  if ((await command.end()) !== 0) await relocation.complete();
}

/** Aborts a move, or continues it, with another database of the same name. */
async function namesake({ world, random, relocation }) {
  const other = await openCell(world, 'west', 'namesake');
  world.nodes.pop();
  const command = relocation.start();
  await command.until(random.pick(steps.slice(1)));
  await world.fault('the moving command killed', () => command.kill());
  const isLeft = (await relocation.stateIn('east')) !== 'here';
  for (const options of [['--abort'], []]) {
    if (!isLeft && options.length === 0) continue;
    const mistaken = relocation.start(options, { to: other.url });
    world.expect('another database with the name of the cell is refused', (await mistaken.end()) !== 0);
  }
  await other.node.stop();
  await relocation.complete();
}

/** Restores the old cell from a backup that was made before the move. The new cell has recorded more since. */
async function restored({ world, random, east, relocation }) {
  const backup = await east.cluster.standby(join(world.path, 'east-backup'));
  world.closeLater(() => backup.kill());
  east.proxy.heal();
  await east.node.ready();
  await wait(random.between(200, 1_000));
  const command = relocation.start();
  // In half of the trials, the backup is from the middle of the move.
  if (random.next() < 0.5) await command.until('Copying…');
  else await command.until('Counting rows…');
  await backup.stop();
  if ((await command.end()) !== 0) await relocation.complete();
  await wait(random.between(200, 1_000));
  await world.fault('the old cell restored from a backup', async () => {
    await east.node.kill();
    await east.cluster.kill();
    await backup.start();
    await backup.promote();
    east.cluster = backup;
    world.cluster = backup;
    east.proxy.target = backup.socket;
    east.proxy.heal();
    await relocation.complete();
    await east.node.start();
  });
}

/** Lets the new cell lose rows while they are copied. */
async function lossy({ world, west, relocation }) {
  await west.cluster.query(
    `create function posthorn.lose() returns trigger language plpgsql as
       'begin return case when new.id > ''EVT-'' and random() < 0.1 then null else new end; end';`,
  );
  await west.cluster.query(
    'create trigger lose before insert on posthorn.events for each row execute function posthorn.lose()',
  );
  await world.fault('the new cell loses rows while they are copied', async () => {
    const command = relocation.start();
    world.expect('an incomplete copy is refused', (await command.end()) !== 0);
    world.expect('the organization works on in its old cell', await relocation.worksIn('east'));
    await west.cluster.query('drop trigger lose on posthorn.events');
  });
  await relocation.complete();
}

const kinds = [killed, failsOver(true), failsOver(false), setBack, namesake, restored, lossy];
