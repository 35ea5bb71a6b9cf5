import { createHash, randomBytes } from 'node:crypto';
import { constants, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Options, UsageError } from './command.js';
import { cannotWrite, configDirectory, writePrivate } from './profiles.js';

type Env = Record<string, string | undefined>;

/** What a listener follows, and where it forwards to. Each combination has its own position. */
export interface Listener {
  url: string;
  organization: string;
  /** Null for all workspaces. */
  workspace: string | null;
  events: readonly string[];
  target: string | null;
}

/** Remembers the last event that a listener has handled, so that the next run continues after it. */
export class ListenPosition {
  readonly #file: string | undefined;
  readonly #listener: Listener;
  #descriptor: number | undefined;

  constructor(env: Env, listener: Listener) {
    const directory = configDirectory(env);
    const { url, organization, workspace, events, target } = listener;
    const name = createHash('sha256')
      .update(JSON.stringify([url, organization, workspace, events, target]))
      .digest('hex');
    this.#file = directory === undefined ? undefined : join(directory, 'listen', `${name.slice(0, 24)}.json`);
    this.#listener = listener;
  }

  read(): string | undefined {
    try {
      return (JSON.parse(readFileSync(this.#file ?? '', 'utf8')) as { last_event_id?: string }).last_event_id;
    } catch {
      return undefined;
    }
  }

  /**
   * Stores the position. This happens after every event, so it is a single write in place: all IDs, and therefore the
   * file, have the same length. Fails if the position cannot be stored: the next run would miss or repeat events.
   */
  write(lastEventId: string): void {
    if (this.#file === undefined) return;
    const text = `${JSON.stringify({ ...this.#listener, last_event_id: lastEventId })}\n`;
    try {
      if (this.#descriptor === undefined) mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      // Opened without truncating it: if the disk is full, the file keeps the position that it has.
      this.#descriptor ??= openSync(this.#file, constants.O_WRONLY | constants.O_CREAT, 0o600);
      ftruncateSync(this.#descriptor, writeSync(this.#descriptor, text, 0));
    } catch (error) {
      throw cannotWrite(this.#file, error);
    }
  }
}

/** Returns the secret of the options or of the environment. */
export function givenSecret({ secret }: Options, env: Env): string | undefined {
  return secret ?? (env.POSTHORN_WEBHOOK_SECRET || undefined);
}

/** Returns the given secret, or the one that local requests are signed with by default. */
export async function signingSecret(options: Options, env: Env): Promise<string> {
  const secret = givenSecret(options, env);
  if (secret === '')
    throw new UsageError('--secret: the secret is empty. Check that the variable you passed is set.');
  return secret ?? localSecret(env);
}

/** Returns the secret that local requests are signed with: the same one every time, so that receivers can keep it. */
async function localSecret(env: Env): Promise<string> {
  const directory = configDirectory(env);
  if (directory === undefined) return newSecret();
  const file = join(directory, 'listen-secret');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '') return kept;
  const secret = newSecret();
  await writePrivate(file, `${secret}\n`);
  return secret;
}

/** Returns a signing secret in the format of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
