import { CommandFailure, json, type Terminal, UsageError } from 'posthorn';
import { operatorOrigin } from '../audit/audit-store.js';
import { MoveTakenOver } from '../cells/relocation-store.js';
import type { Reencrypt } from '../moving/arrival-store.js';
import { moveOrganization, type Relocated, type RelocationStep } from '../moving/relocation.js';
import { abortMove } from '../moving/relocation-abort.js';
import { RelocationRefused } from '../moving/relocation-refused.js';
import { isDatabaseUrl } from '../postgres/connection.js';
import { Database } from '../postgres/database.js';
import { isConnectFailure, isTooSlow, isUnreachable, reasonOf } from '../postgres/database-errors.js';
import { isMigrated } from '../postgres/migrate.js';
import { type Config, ConfigError } from '../settings/config.js';
import { openSecretBox, parseSecretKeys } from '../settings/keys.js';
import { databaseUrlForm } from '../settings/setting-values.js';
import { identifierPattern } from '../values/identifier.js';
import { SecretBox } from '../values/secret-box.js';
import { reencryptHeaders } from '../webhooks/webhook-headers.js';
import type { OperatorCommand, OperatorContext } from './operator.js';
import { connectAdvice, tooSlow, withDatabase } from './with-database.js';

/** The variable with the keys of the other cell, if they differ. */
const targetKeys = 'POSTHORN_TARGET_SECRET_KEY';

export const organizationMove: OperatorCommand = {
  name: 'organization move',
  summary:
    'Move an organization to another cell while the organization is in use, or continue an interrupted move.',
  argument: { name: 'organization', description: 'Organization ID, ORG-…' },
  options: {
    to: {
      value: 'url',
      description: `URL of the other cell's database. If that cell has a different POSTHORN_SECRET_KEY, set ${targetKeys} to that key.`,
      required: true,
    },
    abort: {
      description:
        'Abort the move and keep the organization in its old cell, if it has not left that cell yet.',
    },
    json,
  },
  run: async (context) => {
    const { argument: organizationId, options, config, terminal } = context;
    if (!new RegExp(identifierPattern.organization).test(organizationId))
      throw new UsageError(`'${organizationId}' is not an organization ID. Expected ORG-….`);
    await withDatabase(config, (from) =>
      withTarget(options.to ?? '', async (to) => {
        if (options.abort) {
          await abortMove(from, to, organizationId);
          terminal.line(
            options.json
              ? JSON.stringify({ organization_id: organizationId, aborted: true })
              : `The move of ${organizationId} was aborted. The organization stays in its cell.`,
          );
          return;
        }
        const moved = await move(context, from, to);
        terminal.line(options.json ? jsonOf(organizationId, moved) : sentenceOf(organizationId, moved));
      }).catch((error) => {
        throw error instanceof RelocationRefused || error instanceof MoveTakenOver
          ? new CommandFailure(error.message)
          : error;
      }),
    );
  },
};

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
  if (isTooSlow(error)) throw new CommandFailure(`The --to database ${tooSlow}. Try again.`);
  if (!isUnreachable(error) && !isConnectFailure(error)) throw error;
  const advice =
    connectAdvice(error, '--to') ?? 'Check that the URL is correct and that PostgreSQL is running there.';
  throw new CommandFailure(`Cannot connect to the --to database: ${reasonOf(error as Error)}. ${advice}`);
}

async function move(
  { argument: organizationId, config, env, options, terminal }: OperatorContext,
  from: Database,
  to: Database,
): Promise<Relocated> {
  const interrupted = new AbortController();
  const interrupt = () =>
    interrupted.abort(new CommandFailure('Interrupted. Run the command again to continue.'));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt);
  const progress = new ProgressLine(terminal, options.json !== undefined);
  return moveOrganization({
    organizationId,
    from,
    to,
    origin: operatorOrigin(),
    signal: interrupted.signal,
    reencrypt: await reencryption(config, env),
    onStep: (step) => progress.step(step),
    onPage: (table, rows) => progress.copied(table, rows),
  });
}

/** Shows what the move is doing: one line per step, and how many rows were copied. */
class ProgressLine {
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  readonly #rows = new Map<string, number>();

  constructor(terminal: Terminal, isQuiet: boolean) {
    this.#terminal = terminal;
    this.#isQuiet = isQuiet;
  }

  step(step: RelocationStep): void {
    if (!this.#isQuiet) this.#terminal.line(`${step.charAt(0).toUpperCase()}${step.slice(1)}…`);
  }

  copied(table: string, rows: number): void {
    this.#rows.set(table, (this.#rows.get(table) ?? 0) + rows);
    const counts = [...this.#rows].map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`);
    this.#terminal.status(this.#terminal.paint('dim', `copied ${counts.join(', ')}`));
  }
}

/** Returns the function that encrypts secrets for the other cell. */
async function reencryption(config: Config, env: OperatorContext['env']): Promise<Reencrypt> {
  const text = env[targetKeys];
  if (!text) return (sealed) => sealed;
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

function jsonOf(organizationId: string, { from, to, copied, stoppedMs }: Relocated): string {
  return JSON.stringify({
    organization_id: organizationId,
    ...{ from, to, rows: copied.rows, copy_ms: Math.round(copied.ms) },
    stopped_ms: stoppedMs === undefined ? null : Math.round(stoppedMs),
  });
}

function sentenceOf(organizationId: string, { from, to, copied, stoppedMs }: Relocated): string {
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

const seconds = (ms: number) => (ms / 1_000).toFixed(1);
const grouped = (count: number) => count.toLocaleString('en');
