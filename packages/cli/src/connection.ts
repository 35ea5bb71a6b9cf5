import { Posthorn } from '@posthorn/client';
import { type Command, CommandFailure, type Context, type Fields, UsageError } from './command.js';
import { JsonTexts } from './json-text.js';
import { Profiles } from './profiles.js';
import { eventId, webhookId } from './short-id.js';

const group = 'Connection';

/** Options for every command that uses the API. */
export const connectionOptions = {
  profile: { value: 'name', description: 'Use this profile instead of the current one.', group },
  url: { value: 'URL', description: 'Address of the service. Environment: POSTHORN_URL.', group },
  token: {
    value: 'token',
    description: 'Access token. Other users of this machine can see it; prefer POSTHORN_TOKEN.',
    group,
  },
} as const;

/** If the service asks for a longer wait, the command fails and says how long, instead of waiting in silence. */
export const retry = { maxWaitMs: 2_000 } as const;

/** What stands in for credentials if the requests do not leave this process. They cannot get lost, and may take long. */
const inProcess = { url: 'http://localhost', token: 'none', profile: undefined };
const timerMsMax = 2_147_483_647;

export const defaultUrl = 'http://127.0.0.1:7400';

/** Returns whether the command line specifies where to connect. */
export function namesConnection({ options }: Context): boolean {
  return ['profile', 'url', 'token'].some((name) => options[name] !== undefined);
}

export type Connection = Awaited<ReturnType<typeof connect>>;

/**
 * Connects with the options of the command line, the environment or the current profile, in this order of precedence.
 */
export async function connect(context: Context) {
  const { fetch } = context;
  const { url, token, profile } = fetch ? inProcess : await credentials(context);
  const texts = new JsonTexts();
  const patience = fetch ? { fetch, retry: { attempts: 1 }, timeoutMs: timerMsMax } : { retry };
  const posthorn = new Posthorn({ url, token, parse: texts.parse, ...patience });
  return {
    posthorn,
    url,
    /** The profile that the token comes from. */
    profile,
    /** The option or the variable that the token comes from; undefined if it comes from a profile. */
    tokenSource: tokenSource(context),
    texts,
    /** Returns the organization of the options or of the token. */
    organization: async () => context.options.organization ?? (await posthorn.token()).organization_id,
  };
}

/** What a command of the API works with. In `fields`, the IDs of a webhook and of an event are complete. */
export type ApiContext = Context & Connection;

interface ApiCommand extends Omit<Command, 'run'> {
  run: (context: ApiContext) => Promise<void>;
}

/** Returns a command that connects to the API. Adds the options for that. */
export function apiCommand({ options, run, ...command }: ApiCommand): Command {
  return {
    ...command,
    options: { ...options, ...connectionOptions },
    run: async (context) => {
      const connected = { ...context, ...(await connect(context)) };
      await run({ ...connected, fields: await withIds(connected, context.fields) });
    },
  };
}

/** Returns the fields with complete IDs of webhooks and events. */
export async function withIds(context: ApiContext, fields: Fields): Promise<Fields> {
  const { webhook_id, event_id } = fields;
  return {
    ...fields,
    ...(webhook_id !== undefined && { webhook_id: await webhookId(context, webhook_id) }),
    ...(event_id !== undefined && { event_id: await eventId(context, event_id) }),
  };
}

/** Prints the result of a request: as the service sent it with `--json`, or else with `show`. */
export function printResult(
  { options, terminal, texts }: ApiContext,
  result: object,
  show: () => void,
): void {
  if (options.json) terminal.line(texts.of(result));
  else show();
}

/** Returns the option or the variable that the token comes from; undefined if it comes from a profile. */
export function tokenSource({ options, env }: Pick<Context, 'options' | 'env'>): string | undefined {
  if (options.token !== undefined) return '--token';
  return options.profile === undefined && env.POSTHORN_TOKEN ? 'POSTHORN_TOKEN' : undefined;
}

async function credentials({ options, env }: Context) {
  const named = options.profile;
  const stored = await new Profiles(env).find(named);
  if (named !== undefined && !stored)
    throw new CommandFailure(`There is no profile '${named}'. Run posthorn login --profile ${named}.`);
  const environment = named === undefined ? env : {};
  const { url } = linkOf(options.url ?? (environment.POSTHORN_URL || stored?.profile.url) ?? defaultUrl);
  // The token of a profile is sent only to the URL of that profile.
  const own = stored && sameUrl(stored.profile.url, url) ? stored : undefined;
  const given = options.token ?? (environment.POSTHORN_TOKEN || undefined);
  const token = given ?? own?.profile.token;
  if (token === undefined)
    throw new CommandFailure(
      `There is no token for ${url}. Run posthorn login --url ${url}, or set POSTHORN_TOKEN.`,
    );
  return { url, token: validToken(token), profile: given === undefined ? own?.name : undefined };
}

/** Returns the address of the service and, if the text is a link to the console that contains a token, the token. */
export function linkOf(text: string): { url: string; token: string | undefined } {
  const [, before = text, token] = /^(.*)\/console(?:\/[^#]*)?#token=(.*)$/.exec(text.trim()) ?? [];
  if (/^https?:\/\/\S+$/.test(before) && URL.canParse(before)) {
    const { username, password } = new URL(before);
    if (username === '' && password === '') return { url: before.replace(/\/+$/, ''), token };
    throw new UsageError(
      'The URL contains a username or a password. Remove it: requests are authenticated with the access token only.',
    );
  }
  throw new UsageError(`'${before}' is not an http or https URL. Use --url ${defaultUrl}, for example.`);
}

/** Returns the token without the white space around it. */
export function validToken(text: string): string {
  const token = text.trim();
  if (/^[!-~]*$/.test(token)) return token;
  throw new UsageError(
    'The token contains a character that is not allowed in a token. Copy the whole token, then run posthorn login again.',
  );
}

function sameUrl(one: string, other: string): boolean {
  return one.replace(/\/+$/, '') === other.replace(/\/+$/, '');
}
