import { CommandFailure, json, requireConfirmation, UsageError } from 'posthorn';
import { nameMax, renameOrganization } from '../access/organization-store.js';
import { operatorOrigin } from '../audit/audit-store.js';
import type { Reencrypt } from '../moving/copy.js';
import { forgetOrganization } from '../moving/forget.js';
import { Move, type Moved } from '../moving/move.js';
import type { Step } from '../moving/plan.js';
import { grouped, MoveRefused, seconds } from '../moving/state-store.js';
import { isDatabaseUrl } from '../postgres/connection.js';
import { Database } from '../postgres/database.js';
import { isMigrated } from '../postgres/migrate.js';
import { type Config, ConfigError } from '../settings/config.js';
import { openSecretBox, parseSecretKeys } from '../settings/keys.js';
import { databaseUrlForm } from '../settings/setting-values.js';
import { dayMs, parseDurationMs } from '../values/duration.js';
import { identifierPattern } from '../values/identifier.js';
import { textPattern } from '../values/pattern.js';
import { SecretBox } from '../values/secret-box.js';
import { reencryptHeaders } from '../webhooks/webhook-headers.js';
import type { OperatorCommand, OperatorContext } from './operator.js';
import { unreachableFailure, withDatabase, writtenHere } from './with-database.js';

/** The variable with the keys of the other cell, if they differ. */
const targetKeys = 'POSTHORN_TARGET_SECRET_KEY';
/** How long an old copy is kept at least: long enough to notice that the new cell has lost something. */
const keptMsMin = 3 * dayMs;
const argument = { name: 'organization', description: 'Organization ID, ORG-…' } as const;

export const organizationMove: OperatorCommand = {
  name: 'organization move',
  summary:
    'Move an organization to another cell, or continue an interrupted move. Writes are rejected while its rows are copied.',
  argument,
  options: {
    to: {
      value: 'url',
      description: `URL of the other cell's database. If that cell has a different POSTHORN_SECRET_KEY, set ${targetKeys} to that key.`,
      required: true,
    },
    'max-stop': {
      value: 'duration',
      description: 'Refuse to move an organization whose writes would be rejected for longer. Default: 60s.',
    },
    abort: {
      description:
        'Abort the move and keep the organization in its old cell, unless it already works in the new one.',
    },
    yes: { description: 'Do not ask for confirmation.' },
    json,
  },
  run: (context) =>
    withBoth(context, async (from, to) => {
      const { argument: organizationId, options, terminal } = context;
      const move = await moveOf(context, from, to);
      if (options.abort) {
        await move.abort();
        terminal.line(
          options.json
            ? JSON.stringify({ organization_id: organizationId, aborted: true })
            : `The move of ${organizationId} was aborted. The organization stays in its cell.`,
        );
        return;
      }
      const moved = await move.run();
      terminal.line(options.json ? jsonOf(organizationId, moved) : sentenceOf(organizationId, moved));
    }),
};

export const organizationForget: OperatorCommand = {
  name: 'organization forget',
  summary: 'Delete the old copy of an organization that has moved to another cell.',
  argument,
  options: {
    to: {
      value: 'url',
      description:
        "URL of the database of the organization's cell, which must have everything that was moved.",
      required: true,
    },
    now: { description: 'Also if the organization left this cell less than 3 days ago.' },
    yes: { description: 'Do not ask for confirmation.' },
    json,
  },
  run: (context) =>
    withBoth(context, async (from, to) => {
      const { argument: organizationId, options, config, terminal } = context;
      await requireConfirmation(context, `Delete the old copy of ${organizationId}?`);
      const ageMsMin = options.now ? 0 : keptMsMin;
      await forgetOrganization({ organizationId, from, to, ageMsMin, retentionMs: config.eventRetentionMs });
      terminal.line(
        options.json
          ? JSON.stringify({ organization_id: organizationId, forgotten: true })
          : `The old copy of ${organizationId} was deleted.`,
      );
    }),
};

export const organizationRename: OperatorCommand = {
  name: 'organization rename',
  summary: 'Set the display name of an organization, which the console and the portal show.',
  argument,
  options: {
    name: {
      value: 'text',
      description: `Display name, at most ${nameMax} characters. An empty one removes the name.`,
      required: true,
    },
    json,
  },
  run: async ({ argument: organizationId, options, config, terminal }) => {
    const name = options.name || null;
    requireOrganization(organizationId);
    if (name !== null && ([...name].length > nameMax || !new RegExp(textPattern.plain, 'u').test(name)))
      throw new UsageError(
        `--name: the name is not valid. Expected at most ${nameMax} characters, without control characters.`,
      );
    const named = await withDatabase(config, (database) =>
      writtenHere(organizationId, renameOrganization(database, organizationId, name, operatorOrigin())),
    );
    const sentence =
      name === null ? `${organizationId} has no name now.` : `${organizationId} is now ${name}.`;
    terminal.line(options.json ? JSON.stringify(named) : sentence);
  },
};

function requireOrganization(id: string): void {
  if (!new RegExp(identifierPattern.organization).test(id))
    throw new UsageError(`'${id}' is not an organization ID. Expected ORG-….`);
}

/** Runs `work` on the databases of both cells. */
async function withBoth(
  { argument: organizationId, options, config }: OperatorContext,
  work: (from: Database, to: Database) => Promise<void>,
): Promise<void> {
  requireOrganization(organizationId);
  await withDatabase(config, (from) => withTarget(options.to ?? '', (to) => work(from, to))).catch(
    (error) => {
      throw error instanceof MoveRefused ? new CommandFailure(error.message) : error;
    },
  );
}

async function withTarget(url: string, work: (database: Database) => Promise<void>): Promise<void> {
  if (!isDatabaseUrl(url)) throw new UsageError(`--to: expected ${databaseUrlForm}.`);
  const database = new Database({ connectionString: url }, 2);
  try {
    if (!(await isMigrated(database).catch(refuseTarget))) {
      throw new CommandFailure(
        'The --to database has not been migrated to this version of Posthorn. Run posthorn migrate there.',
      );
    }
    await work(database);
  } finally {
    await database.close();
  }
}

function refuseTarget(error: unknown): never {
  const advice = 'Check that the URL is correct and that PostgreSQL is running there.';
  throw unreachableFailure(error, '--to database', '--to', advice) ?? error;
}

async function moveOf(context: OperatorContext, from: Database, to: Database): Promise<Move> {
  const { argument: organizationId, config, env, options, terminal } = context;
  const interrupted = new AbortController();
  const interrupt = () =>
    interrupted.abort(new CommandFailure('Interrupted. Run the command again to continue.'));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt);
  let [copied, beganMs] = [0, 0];
  const show = (text: string) => {
    if (!options.json) terminal.line(text);
  };
  return new Move({
    ...{ organizationId, from, to, origin: operatorOrigin(), signal: interrupted.signal },
    reencrypt: await reencryption(config, env),
    stopMsMax: maxStopOf(options['max-stop'] ?? '60s'),
    onEstimate: async (rows, stopMs) => {
      show(
        `${organizationId} has ${grouped(rows)} rows. Writes will be rejected for about ${seconds(stopMs)} seconds.`,
      );
      if (context.input.isTTY && terminal.isInteractive)
        await requireConfirmation(context, `Move ${organizationId} now?`);
    },
    onStep: (step) => {
      [copied, beganMs] = [0, performance.now()];
      if (steps[step] !== undefined) show(steps[step]);
    },
    onRows: (rows) => {
      copied += rows;
      const rate = Math.round((copied * 1_000) / Math.max(1, performance.now() - beganMs));
      terminal.status(terminal.paint('dim', `copied ${grouped(copied)} rows, ${grouped(rate)} rows/s`));
    },
  });
}

function maxStopOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined)
    throw new UsageError(`--max-stop: '${text}' is not valid. Expected a duration such as 60s or 5m.`);
  return ms;
}

const steps: Partial<Record<Step, string>> = {
  stop: 'Counting rows…',
  drain: 'Stopping…',
  copy: 'Copying…',
  leave: 'Switching…',
  activate: 'Activating…',
  discard: 'Deleting the copy in the new cell…',
  resume: 'Resuming in the old cell…',
};

/** Returns the function that encrypts secrets for the other cell. */
async function reencryption(config: Config, env: OperatorContext['env']): Promise<Reencrypt | undefined> {
  const text = env[targetKeys];
  if (!text) return undefined;
  const keys = parseSecretKeys(text);
  if (!keys)
    throw new ConfigError(
      `${targetKeys}: the value (not shown) is not valid. Expected 32 bytes in base64, or several such keys separated by commas.`,
    );
  const own = await openSecretBox(config);
  const other = new SecretBox(keys);
  return ({ id, secret, previous_secret, headers }) => {
    const again = (sealed: Buffer) => other.seal(own.open(sealed, id), id);
    return {
      secret: again(secret),
      previous_secret: previous_secret && again(previous_secret),
      headers: headers && reencryptHeaders(headers, id, own, other),
    };
  };
}

function jsonOf(organizationId: string, { from, to, copied, stoppedMs }: Moved): string {
  return JSON.stringify({
    organization_id: organizationId,
    ...{ from, to, rows: copied.rows, copy_ms: Math.round(copied.ms) },
    stopped_ms: stoppedMs === undefined ? null : Math.round(stoppedMs),
  });
}

function sentenceOf(organizationId: string, { from, to, copied, stoppedMs }: Moved): string {
  const sentences = [`${organizationId} has moved from cell ${from} to cell ${to}.`];
  if (copied.rows > 0) {
    const perSecond = grouped(Math.round((copied.rows * 1_000) / copied.ms));
    sentences.push(
      `${grouped(copied.rows)} rows were copied in ${seconds(copied.ms)} seconds (${perSecond} rows/s).`,
    );
  }
  if (stoppedMs !== undefined) sentences.push(`Writes were rejected for ${seconds(stoppedMs)} seconds.`);
  return sentences.join(' ');
}
