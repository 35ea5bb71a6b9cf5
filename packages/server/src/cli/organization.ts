import { CommandFailure, invalid, json, requireConfirmation, UsageError } from 'posthorn';
import { nameMax, renameOrganization } from '../access/organization-store.js';
import { operatorOrigin } from '../audit/audit-store.js';
import { isDatabaseUrl } from '../postgres/connection.js';
import { Database } from '../postgres/database.js';
import { isMigrated } from '../postgres/migrate.js';
import { forgetOrganization, grouped, Move, seconds } from '../relocating/move.js';
import type { Step } from '../relocating/plan.js';
import { type Cells, MoveRefused } from '../relocating/state-store.js';
import { type Config, ConfigError } from '../settings/config.js';
import { openSecretBox, parseSecretKeys } from '../settings/keys.js';
import { databaseUrlForm } from '../settings/setting-values.js';
import { identifierPattern, textPattern } from '../values/pattern.js';
import type { SecretBox } from '../values/secret-box.js';
import { dayMs, parseDurationMs } from '../values/time.js';
import type { OperatorCommand, OperatorContext } from './operator.js';
import { unreachableFailure, withDatabase, writtenHere } from './operator.js';

/** The variable with the keys of the other cell, if they differ. */
const targetKeys = 'POSTHORN_TARGET_SECRET_KEY';
/** How long an old copy is kept at least: long enough to notice that the new cell has lost something. */
const keptMsMin = 3 * dayMs;
const argument = { name: 'organization', description: 'Organization ID, ORG-…' } as const;

export const organizationMove: OperatorCommand = {
  name: 'organization move',
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
  run: (context) => withBoth(context, (cells) => moveOrAbort(context, cells)),
};

export const organizationForget: OperatorCommand = {
  name: 'organization forget',
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
    withBoth(context, async (cells) => {
      const { argument: organizationId, options, terminal } = context;
      await requireConfirmation(context, `Delete the old copy of ${organizationId}?`);
      await forgetOrganization(cells, options.now ? 0 : keptMsMin);
      terminal.line(
        options.json
          ? JSON.stringify({ organization_id: organizationId, forgotten: true })
          : `The old copy of ${organizationId} was deleted.`,
      );
    }),
};

export const organizationRename: OperatorCommand = {
  name: 'organization rename',
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
  work: (cells: Cells) => Promise<void>,
): Promise<void> {
  requireOrganization(organizationId);
  if (!isDatabaseUrl(options.to ?? '')) throw new UsageError(`--to: expected ${databaseUrlForm}.`);
  await withDatabase(config, async (from) => {
    const to = new Database({ connectionString: options.to ?? '' }, 2);
    try {
      if (!(await isMigrated(to).catch(refuseTarget)))
        throw new CommandFailure(
          'The --to database has not been migrated to this version of Posthorn. Run posthorn migrate there.',
        );
      await work({ organizationId, from, to, retentionMs: config.eventRetentionMs });
    } catch (error) {
      throw error instanceof MoveRefused ? new CommandFailure(error.message) : error;
    } finally {
      await to.close();
    }
  });
}

function refuseTarget(error: unknown): never {
  const advice = 'Check that the URL is correct and that PostgreSQL is running there.';
  throw unreachableFailure(error, '--to database', '--to', advice) ?? error;
}

async function moveOrAbort(context: OperatorContext, cells: Cells): Promise<void> {
  const { config, env, options, terminal } = context;
  const { organizationId } = cells;
  const startedMs: Partial<Record<Step | 'done' | 'stopped', number>> = {};
  const elapsedMs = (start: keyof typeof startedMs, end: keyof typeof startedMs) =>
    startedMs[start] && startedMs[end] ? Math.round(startedMs[end] - startedMs[start]) : null;
  let rows = 0;
  const print = (sentence: string, result?: object) => {
    if (!options.json) terminal.line(sentence);
    else if (result) terminal.line(JSON.stringify({ organization_id: organizationId, ...result }));
  };
  const stopMsMax = parseDurationMs(options['max-stop'] ?? '60s');
  if (stopMsMax === undefined) throw invalid('max-stop', options['max-stop'], 'a duration such as 60s or 5m');
  const move = new Move({
    ...cells,
    stopMsMax,
    origin: operatorOrigin(),
    secrets: await secretsOf(config, env),
    onEstimate: async (counted, stopMs) => {
      print(
        `${organizationId} has ${grouped(counted)} rows. Writes will be rejected for about ${seconds(stopMs)} seconds.`,
      );
      if (context.input.isTTY && terminal.isInteractive)
        await requireConfirmation(context, `Move ${organizationId} now?`);
      startedMs.stopped = performance.now();
    },
    onStep: (step) => {
      startedMs[step] = performance.now();
      print(steps[step]);
    },
    onRows: (copied) => {
      rows += copied;
      const rate = Math.round((rows * 1_000) / (performance.now() - startedMs.copy!));
      terminal.status(terminal.paint('dim', `copied ${grouped(rows)} rows, ${grouped(rate)} rows/s`));
    },
  });
  if (options.abort) {
    await move.abort();
    return print(`The move of ${organizationId} was aborted. The organization stays in its cell.`, {
      aborted: true,
    });
  }
  const { from, to } = await move.run();
  const [copy_ms, stopped_ms] = [elapsedMs('copy', 'leave'), elapsedMs('stopped', 'done')];
  const copied = copy_ms === null ? '' : ` ${grouped(rows)} rows were copied in ${seconds(copy_ms)} seconds.`;
  const stopped = stopped_ms === null ? '' : ` Writes were rejected for ${seconds(stopped_ms)} seconds.`;
  const result = { from, to, rows, copy_ms, stopped_ms };
  print(`${organizationId} has moved from cell ${from} to cell ${to}.${copied}${stopped}`, result);
}

const steps: Record<Step | 'done', string> = {
  stop: 'Counting rows…',
  drain: 'Stopping…',
  copy: 'Copying…',
  leave: 'Switching…',
  activate: 'Activating…',
  discard: 'Deleting the copy in the new cell…',
  resume: 'Resuming in the old cell…',
  done: 'Finishing…',
};

/** Returns the box that encrypts for the other cell, if that has its own key. */
async function secretsOf(config: Config, env: OperatorContext['env']): Promise<SecretBox | undefined> {
  const text = env[targetKeys];
  if (!text) return undefined;
  const keys = parseSecretKeys(text);
  if (!keys)
    throw new ConfigError(
      `${targetKeys}: the value (not shown) is not valid. Expected 32 bytes in base64, or several such keys separated by commas.`,
    );
  return openSecretBox(config, keys);
}
