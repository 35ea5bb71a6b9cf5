import { type InputError, PosthornError } from '@posthorn/client';
import { type Command, CommandFailure } from './command.js';
import { defaultUrl } from './connection.js';

/**
 * Returns what to print about a failed request of a command. It ends with the next command to try. `token` is the
 * option or the variable that the token comes from; undefined if it comes from a profile.
 */
export function failureText(error: PosthornError, command: Command, token?: string): string {
  const next = nextStep(error, command.name, token);
  if (error.errors.length === 0) return `${sentence(error.detail)} ${next}`;
  return [...error.errors.map((one) => inputLine(one, command)), next].join('\n');
}

function inputLine({ parameter, pointer, detail }: InputError, command: Command): string {
  const [field = '', key] = parameter === undefined ? partsOf(pointer ?? '') : [parameter];
  // The details of a header are about its name, which only the pointer contains.
  const header = field === 'headers' && key !== undefined ? `${key} ` : '';
  return `${placeOf(field, command)}: ${header}${sentence(detail)}`;
}

/** Returns what sets a field on the command line. */
function placeOf(field: string, { argument, options }: Command): string {
  if (field === '') return 'The request';
  if (field === argument?.field) return `<${argument.name}>`;
  const [option] = Object.entries(options).find(([, one]) => one.field === field) ?? [];
  return `--${option ?? field.replace(/_id$/, '').replaceAll('_', '-')}`;
}

/** Returns the names in a JSON pointer. */
export function partsOf(pointer: string): string[] {
  const escaped = pointer.split('/').slice(1);
  return escaped.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function nextStep(error: PosthornError, command: string, token: string | undefined): string {
  const { status, code, requestId, retryAfterMs } = error;
  // The detail says what to check.
  if (code === 'unexpected_response') return 'Run posthorn whoami to see the URL in use.';
  // The detail contains the URL.
  if (code === 'unreachable' || code === 'timeout')
    return 'Check that the URL is correct and that the service is running.';
  if (status === 401 && token === '--token') return 'The token comes from --token: correct it.';
  if (status === 401 && token !== undefined) return `The token comes from ${token}: correct or unset it.`;
  if (status === 401) return 'Run posthorn login to store a valid token.';
  if (status === 403) return 'Run posthorn whoami to see what the token may do.';
  if (status === 404) return missingStep(error, command);
  if (code === 'webhook_not_active')
    return 'Run posthorn webhooks activate for a disabled webhook, or posthorn webhooks verify for an unverified one.';
  if (code === 'secrets_required')
    return 'Give each header again with --header, or remove all of them with --no-headers.';
  // A new run has a new key, so it would do the same again.
  if (code === 'idempotency_in_progress')
    return `It may still succeed: run posthorn ${listOf(command)} to check before you run the command again.`;
  const waitMs = retryAfterMs ?? (status === 429 ? 60_000 : undefined);
  if (waitMs !== undefined) return `Wait ${Math.ceil(waitMs / 1000)} s, then run the command again.`;
  if (status >= 500)
    return `Run the command again later. If it keeps failing, report it with request ID ${requestId}.`;
  return `Run posthorn ${command} --help to see the options.`;
}

function missingStep({ detail }: PosthornError, command: string): string {
  if (detail.startsWith('Nothing exists at this path')) {
    const example = detail.includes('The public API is at') ? '' : `, such as ${defaultUrl}`;
    return `Run posthorn login --url with the address of the public API${example}.`;
  }
  const [, what] = /^The (webhook|event|delivery) /.exec(detail) ?? [];
  if (what === undefined) return `Run posthorn ${command} --help to see the options.`;
  return `Run posthorn ${what === 'delivery' ? 'deliveries' : `${what}s`} list to see what exists.`;
}

function listOf(command: string): string {
  const [first = ''] = command.split(' ');
  return ['webhooks', 'deliveries', 'events'].includes(first) ? `${first} list` : 'webhooks list';
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Returns the error of a request. If the request may still have taken effect, adds `note`. */
export function uncertain(error: unknown, command: Command, note: string): unknown {
  if (!(error instanceof PosthornError)) return error;
  const isRunning = error.code === 'idempotency_in_progress';
  if (!isRunning && error.status !== 0 && error.status < 500) return error;
  return new CommandFailure(`${failureText(error, command)}\n${note}`);
}
