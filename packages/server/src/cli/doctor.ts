import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EmbeddedUnavailable, hasDatabase } from '@posthorn/embedded';
import { CommandFailure, jsonLines, type Terminal } from 'posthorn';
import { readCatalogueFile } from '../catalogue/catalogue-file.js';
import { type Cell, listOpenRelocations, type OpenRelocation, readCell } from '../cells/relocation-store.js';
import { loadPortalLogo } from '../console/console.js';
import { Database } from '../postgres/database.js';
import * as checks from '../postgres/database-checks.js';
import { compareSchema } from '../postgres/migrate.js';
import { connectionsOf } from '../processes/membership.js';
import { recordedPayloads } from '../resources/resource-operations.js';
import { type Config, unknownSettings } from '../settings/config.js';
import { openSecretBox } from '../settings/keys.js';
import { createAddressPolicy } from '../values/address.js';
import { countSecretsWithout } from '../webhooks/secret-store.js';
import { type Finding, fine, problem, restoreKey, unusable, warning, webhooksText } from './finding.js';
import { type OpenDatabase, type OperatorCommand, openTarget } from './operator.js';

const clockMsMax = 1_000;

export const doctor: OperatorCommand = {
  name: 'doctor',
  options: { json: jsonLines },
  run: async ({ options, config, env, terminal }) => {
    terminal.finishesWithoutReader = true;
    const findings: Finding[] = [];
    for await (const finding of examine(config, env)) {
      findings.push(finding);
      if (options.json) terminal.line(JSON.stringify(finding));
      else show(terminal, finding);
    }
    const wrong = findings.filter(({ state }) => state === 'problem');
    if (wrong.length === 0) return;
    const names = wrong.map(({ check }) => check).join(', ');
    throw new CommandFailure(
      `Found problems: ${names}. Apply the remedies above, then run posthorn doctor again.`,
    );
  },
};

const marks = { ok: ['green', 'ok'], warning: ['yellow', 'warning'], problem: ['red', 'problem'] } as const;

function show(terminal: Terminal, { check, state, detail, remedy }: Finding): void {
  if (!terminal.isInteractive) {
    terminal.line([state, check, detail, remedy ?? '-'].join('\t'));
    return;
  }
  const [color, mark] = marks[state];
  terminal.line(`${terminal.paint(color, mark.padEnd(8))} ${check.padEnd(20)} ${detail}`);
  if (remedy !== null) terminal.line(`${' '.repeat(30)}${remedy}`);
}

async function* examine(config: Config, env: Record<string, string | undefined>): AsyncGenerator<Finding> {
  const ignored = unknownSettings(env);
  yield ignored.length === 0
    ? fine('settings', 'every setting is valid')
    : warning('settings', ignored.join(' '), 'Correct the name, or remove the variable.');
  yield* database(config);
  yield await checkKeyFiles(config.dataDir);
  yield await files(config);
  yield guard(config);
}

/** Reads the files that `serve` reads. The certificates in a database URL were read with the settings. */
async function files({ catalogueFile, portalLogoFile }: Config): Promise<Finding> {
  const read = [readCatalogueFile(catalogueFile, recordedPayloads), loadPortalLogo(portalLogoFile)];
  const failed = (await Promise.allSettled(read)).filter((result) => result.status === 'rejected');
  const reasons = failed.map(({ reason }) => reason.message).join(' ');
  return failed.length === 0
    ? fine('files', 'every file in the settings can be used')
    : problem('files', reasons, 'Correct the file or the setting.');
}

async function* database(config: Config): AsyncGenerator<Finding> {
  let opened: OpenDatabase;
  try {
    if (config.databaseUrl === undefined && !(await hasDatabase(config.dataDir)))
      return yield warning(
        'database',
        `there is none in ${resolve(config.dataDir)} yet; posthorn serve creates it`,
        'If the service already has a database, run the command in the directory of the service, or set ' +
          'POSTHORN_DATA_DIR or DATABASE_URL.',
      );
    opened = await openTarget(config);
  } catch (error) {
    if (!(error instanceof EmbeddedUnavailable)) throw error;
    return yield problem('database', 'the embedded database cannot be opened', error.message);
  }
  try {
    yield* aboutDatabase(opened.database, config, opened.embedded !== undefined);
  } catch (error) {
    yield unusable('database', 'DATABASE_URL', error);
  } finally {
    await opened.close();
  }
}

async function* aboutDatabase(pool: Database, config: Config, isEmbedded: boolean): AsyncGenerator<Finding> {
  const askedMs = Date.now();
  const facts = await checks.readDatabaseFacts(pool);
  // Assume that the clock was read halfway through the round trip.
  const skewMs = facts.clock_ms - (askedMs + Date.now()) / 2;
  const where = isEmbedded ? `embedded, in ${config.dataDir}` : `as ${facts.user}`;
  const obstacles = checks.obstaclesIn(facts);
  const has = (name: string) => obstacles.some(({ check }) => check === name);
  if (!has('database')) yield fine('database', `PostgreSQL ${facts.version}, ${where}`);
  for (const { check, detail, remedy } of obstacles) yield problem(check, detail, remedy);
  // The rest about a database that cannot be repaired does not matter.
  if (has('encoding')) return;
  await pool.detectPooler();
  if (pool.route.hasPooler && config.directDatabaseUrl === undefined)
    yield problem(
      'pooler',
      'DATABASE_URL points to a connection pooler, which does not forward notifications',
      'Set POSTHORN_DIRECT_DATABASE_URL to the URL of PostgreSQL itself.',
    );
  yield* checkOtherDatabases(pool, config);
  yield* aboutSettings(facts, isEmbedded, config);
  const skew = `${Math.round(Math.abs(skewMs))} ms off the database clock`;
  const synchronize = 'Synchronize both machines with NTP: signatures and tokens depend on the time.';
  yield Math.abs(skewMs) <= clockMsMax ? fine('clock', skew) : problem('clock', skew, synchronize);
  const allowed = permissions(facts);
  if (facts.is_owner === false) {
    // Without the rights of the owner, the rest may be unreadable.
    yield allowed;
    return;
  }
  const schema = await compareSchema(pool);
  yield schemaFindings[schema];
  yield allowed;
  if (config.cell !== undefined && schema !== 'older') yield cellOf(await readCell(pool), config.cell);
  if (schema !== 'older') for (const open of await listOpenRelocations(pool)) yield relocationOf(open);
  yield* keys(pool, config, schema !== 'older');
}

const newer = 'migrated by a newer version of Posthorn, so this version cannot start';
const schemaFindings = {
  same: fine('schema', 'up to date'),
  older: problem('schema', 'not migrated to this version of Posthorn', 'Run posthorn migrate.'),
  newer: problem('schema', newer, 'Start the newer version.'),
};

function* aboutSettings(
  { settings, is_standby }: checks.DatabaseFacts,
  isEmbedded: boolean,
  { processes = 1 }: Config,
): Generator<Finding> {
  if (is_standby)
    yield problem('database role', 'a read-only standby', 'Set DATABASE_URL to the URL of the primary.');
  else if (settings.default_transaction_read_only === 'on')
    yield problem(
      'database role',
      'read-only, because default_transaction_read_only is on',
      'If the disk of the database is full, free up space. Then turn the setting off: in the configuration of the ' +
        'server, or for the database or the user.',
    );
  const unsafe = ['fsync', 'full_page_writes', 'synchronous_commit'].filter(
    (name) => settings[name] === 'off',
  );
  const set = (name: string) => `alter system set ${name} = on; select pg_reload_conf();`;
  const risk = `off: ${unsafe.join(', ')}; a crash can lose events`;
  yield unsafe.length > 0
    ? problem('durability', risk, `In psql: ${unsafe.map(set).join(' ')}`)
    : fine('durability', 'fsync, full_page_writes and synchronous_commit are on');
  if (settings.autovacuum === 'off')
    yield warning('autovacuum', 'off, so the queue tables keep growing', `In psql: ${set('autovacuum')}`);
  const connections = Number(settings.max_connections);
  const connectionsOfNode = connectionsOf(processes);
  // While one node replaces another, both are connected.
  if (!isEmbedded && connections < 2 * connectionsOfNode)
    yield warning(
      'connections',
      `max_connections is ${connections}`,
      `Raise max_connections: each node uses up to ${connectionsOfNode} connections.`,
    );
}

function permissions({ user, can_create, owner, is_owner }: checks.DatabaseFacts): Finding {
  if (is_owner === false)
    return problem(
      'permissions',
      `the tables belong to ${owner}, so ${user} cannot create or drop partitions`,
      `Use ${owner} as the user in DATABASE_URL.`,
    );
  if (can_create) return fine('permissions', `${user} can write and migrate`);
  const remedy = `In psql, connected to this database: grant create on database :"DBNAME" to "${user}";`;
  return is_owner
    ? warning('permissions', `${user} cannot migrate`, remedy)
    : problem('permissions', `${user} cannot create the schema`, remedy);
}

function cellOf(stored: Cell | undefined, given: string): Finding {
  if (stored === undefined) return fine('cell', `has no name yet; the first node names it ${given}`);
  if (stored.name === given) return fine('cell', given);
  return problem(
    'cell',
    `the database belongs to the cell ${stored.name}`,
    'Correct POSTHORN_CELL or DATABASE_URL.',
  );
}

/** Reports an organization that is stopped, is arriving, or has left a copy here, and the command that ends this. */
function relocationOf({ organization_id: id, state, cell, since }: OpenRelocation): Finding {
  const [check, at] = ['organization', since.toISOString()];
  if (state === 'moved')
    return {
      ...fine(check, `${id} moved to the cell ${cell}, and its old copy is kept since ${at}`),
      remedy: `To delete the copy: posthorn organization forget ${id} --yes --to <database URL of ${cell}>`,
    };
  const [detail, place, to] =
    state === 'arriving'
      ? [`is arriving from the cell ${cell} since ${at}`, `In the cell ${cell}: `, 'URL of this database']
      : [`is stopped since ${at}, to move to the cell ${cell}`, '', `database URL of ${cell}`];
  const remedy = `${place}posthorn organization move ${id} --to <${to}>. To undo the move, add --abort.`;
  return warning(check, `${id} ${detail}`, remedy);
}

async function* keys(pool: Database, config: Config, migrated: boolean): AsyncGenerator<Finding> {
  if (config.databaseUrl !== undefined && config.secretKeys === undefined) {
    const remedy = 'Set it. For a new database, generate a key with: openssl rand -base64 32';
    yield problem('secret key', 'POSTHORN_SECRET_KEY is not set', remedy);
    return;
  }
  const { prefixes } = await openSecretBox(config);
  const lost = migrated ? await countSecretsWithout(pool, prefixes) : 0;
  yield lost > 0
    ? problem('secret key', `does not decrypt the secrets of ${webhooksText(lost)}`, restoreKey)
    : fine('secret key', 'decrypts the secrets of all webhooks');
}

/** Checks the setting in this environment. A running service may have been started with another one. */
function guard({ egressAllow, host }: Config): Finding {
  const policy = createAddressPolicy(egressAllow);
  if (policy.allowsNothing)
    return fine(
      'address guard',
      'with these settings, deliveries can reach only public addresses; a service started with --allow-loopback (npm start) can also reach this machine',
    );
  const open = ['127.0.0.1', '::1', '169.254.169.254', '10.0.0.1'].filter(
    (address) => policy.judge(address) === 'allowed',
  );
  const detail = `POSTHORN_EGRESS_ALLOW has ${egressAllow.length} ${egressAllow.length === 1 ? 'network' : 'networks'}`;
  const isLocal = ['127.0.0.1', '::1', 'localhost'].includes(host);
  if (open.length > 0 && !isLocal)
    return warning(
      'address guard',
      `${detail}; deliveries can reach ${open.join(', ')}`,
      'Allow only networks that anyone with a token may reach.',
    );
  return fine('address guard', detail);
}

/** Checks that nobody else can read the keys in the data directory. */
async function checkKeyFiles(dataDir: string): Promise<Finding> {
  const check = 'data directory';
  for (const name of ['secret-key', 'platform-token']) {
    const file = join(dataDir, name);
    const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {};
    if ((mode & 0o077) !== 0) return problem(check, `other users can read ${file}`, `Run chmod 600 ${file}.`);
  }
  return fine(check, `no other user can read keys in ${dataDir}`);
}

/** Checks the databases of POSTHORN_DIRECT_DATABASE_URL and POSTHORN_READ_DATABASE_URL, if they are set. */
async function* checkOtherDatabases(primary: Database, config: Config): AsyncGenerator<Finding> {
  const { directDatabaseUrl: direct, readDatabaseUrl: read } = config;
  if (direct !== undefined)
    yield await check('direct database', 'POSTHORN_DIRECT_DATABASE_URL', direct, async (database) => {
      const given = await checks.readDatabaseIdentity(database);
      const own = await checks.readDatabaseIdentity(primary);
      return given.started_at === own.started_at && given.database === own.database
        ? undefined
        : 'not the database of DATABASE_URL';
    });
  if (read !== undefined)
    yield await check('read database', 'POSTHORN_READ_DATABASE_URL', read, async (database) =>
      (await checks.readDatabaseIdentity(database)).is_standby ? undefined : 'not a streaming replica',
    );
}

/** Connects to a database. `fault` returns what is wrong with it. */
async function check(
  name: string,
  setting: string,
  connectionString: string,
  fault: (database: Database) => Promise<string | undefined>,
): Promise<Finding> {
  const database = new Database({ connectionString }, 1);
  try {
    const found = await fault(database);
    return found === undefined
      ? fine(name, `${setting} is correct`)
      : problem(name, found, `Correct ${setting}.`);
  } catch (error) {
    return unusable(name, setting, error);
  } finally {
    await database.close();
  }
}
