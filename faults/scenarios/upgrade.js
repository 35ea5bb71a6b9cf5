import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { entry, Node } from '../node.js';

const server = dirname(dirname(entry));

/**
 * Replaces the nodes one by one with those of a next version, under load. The next version is this one with one more
 * migration, because there is no other release yet: it adds columns and replaces a function that settlements use.
 */
export const upgrade = {
  name: 'upgrade',
  summary: 'a rolling upgrade across a migration, node by node, under load',
  shape: () => ({ nodes: 2, load: { perSecond: 150 } }),
  async run(world, random) {
    const next = makeNext(join(world.path, 'next'));
    await wait(random.between(300, 1_000));
    for (const [index, old] of [...world.nodes].entries()) {
      const node = await Node.prepare(`next-${index + 1}`, world.path, {
        DATABASE_URL: world.proxy.url,
        command: [process.execPath, next],
      });
      await world.fault('a node of the next version starts', async () => {
        // It migrates first. The old ones keep working with the new schema.
        await node.start();
        world.nodes.push(node);
        await wait(random.between(300, 1_000));
      });
      await world.fault('a node of the version before stops', async () => {
        world.producer.only(world.nodes.filter((one) => one !== old));
        await old.stop();
        world.nodes.splice(world.nodes.indexOf(old), 1);
        world.producer.only(world.nodes);
      });
      await wait(random.between(100, 500));
    }
    const rows = await world.cluster.query(
      "select from posthorn.schema_files where name like 'migrations/%_faults.sql'",
    );
    world.expect('the migration was applied', rows.length === 1);
  },
};

/** Copies the built server to a directory of its own and adds a migration. Returns the program. */
function makeNext(directory) {
  const copy = join(directory, 'packages', 'server');
  for (const part of ['bin', 'dist', 'schema', 'assets', 'catalogue.json', 'lifecycles.json', 'package.json'])
    cpSync(join(server, part), join(copy, part), { recursive: true });
  symlinkSync(join(server, '..', '..', 'node_modules'), join(directory, 'node_modules'));
  const schema = join(copy, 'schema');
  mkdirSync(join(schema, 'migrations'), { recursive: true });
  writeFileSync(
    join(schema, 'migrations', '9999_faults.sql'),
    'alter table posthorn.events add column faults text;\nalter table posthorn.deliveries add column faults text;\n',
  );
  const settle = join(schema, 'functions', 'settle.sql');
  writeFileSync(settle, `${readFileSync(settle, 'utf8')}\n-- The next version.\n`);
  const revision = join(schema, 'revision');
  writeFileSync(revision, `${Number(readFileSync(revision, 'utf8')) + 1}\n`);
  return join(copy, 'bin', 'posthorn.js');
}
