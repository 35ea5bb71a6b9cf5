import { type Event, PosthornError } from '@posthorn/client';
import { sampleTypes, signedRequest } from '@posthorn/receiver/testing';
import { type Command, CommandFailure, type Context, invalid, sets, UsageError } from '../command.js';
import { connect, connectionOptions } from '../connection.js';
import { type ForwardResult, forward, forwardedJson, isAccepted, targetUrl } from '../forward.js';
import { memberOf, withValue } from '../json-text.js';
import { signingSecret } from '../listen-state.js';
import { json } from '../listing.js';
import { suggestionFor } from '../parser.js';
import { responseText } from '../response-text.js';
import { eventId } from '../short-id.js';
import { formatOption, newId, type WebhookRequest, webhookRequest } from '../webhook-request.js';
import { servedTypes, unknownType } from './types.js';
import { webhooksTest } from './webhook-status.js';

export const trigger: Command = {
  name: 'trigger',
  summary:
    'Send a sample event, either to a URL (signed on this machine) or to a webhook (as a test event). With the ID of a recorded event, resend that event to a URL.',
  argument: {
    name: 'type',
    description: 'An event type, or the ID of a recorded event.',
    field: 'event_type',
  },
  options: {
    to: sets('target', 'URL', 'Send to this URL, such as http://localhost:3000/hooks.', targetUrl),
    webhook: { value: 'id', description: 'Have the service send a test event to this webhook.' },
    set: {
      value: 'path=value',
      description:
        'Replace a value in the sample, such as payload.amount_minor=100, if the schema of the service allows it. Can be repeated.',
      repeats: true,
      field: 'changes',
      read: changeOf,
    },
    format: formatOption,
    secret: {
      value: 'secret',
      description:
        'Sign with this secret. Environment: POSTHORN_WEBHOOK_SECRET. Default: the one that posthorn listen generates and keeps.',
    },
    json,
    ...connectionOptions,
  },
  run: async (context) => {
    const { options, terminal, env, fields } = context;
    if ((options.to === undefined) === (options.webhook === undefined))
      throw new UsageError('Use either --to URL or --webhook id to say where the event goes.');
    if (options.webhook !== undefined) {
      if (fields.changes)
        throw new UsageError('--set works only with --to: the service sends its own sample to a webhook.');
      return webhooksTest.run({ ...context, fields: { ...fields, webhook_id: options.webhook } });
    }
    const url: URL = fields.target;
    const secret = await signingSecret(options, env);
    const { event, request } = await requestOf(context, secret);
    const result = await forward(url, request);
    if (options.json)
      terminal.line(JSON.stringify({ event_id: event.id, type: event.type, ...forwardedJson(url, result) }));
    else if (isAccepted(result)) {
      const verdict = terminal.paint('green', `${result.status} in ${result.durationMs} ms`);
      terminal.line(`${event.type}  ${event.id}  ${verdict}`);
      const said = responseText(result.response);
      if (said !== '') terminal.line(`The receiver responded: ${said}`);
    }
    if (!isAccepted(result)) throw new CommandFailure(failureOf(result, url));
  },
};

async function requestOf(
  context: Context,
  secret: string,
): Promise<{ event: Event; request: WebhookRequest }> {
  const { argument } = context;
  const now = new Date();
  const how = { format: context.fields.format, key: secret, now };
  const changes: readonly Change[] = context.fields.changes ?? [];
  if (/^EVT-/i.test(argument)) {
    if (changes.length > 0)
      throw new UsageError('--set works only with an event type: recorded events cannot be changed.');
    const connected = { ...context, ...(await connect(context)) };
    const event = await connected.posthorn.events.get(await eventId(connected, argument));
    return { event, request: webhookRequest(event, connected.texts.payloadOf(event), how) };
  }
  const text = changes.reduce((event, change) => change(event), await sampleOf(context, now));
  const event = JSON.parse(text) as Event;
  if (changes.length > 0) await requireValid(context, event);
  return { event, request: webhookRequest(event, memberOf(text, 'payload') ?? '{}', how) };
}

/** Returns the JSON of an event with a sample of its type. It is not parsed, so that numbers stay as they are written. */
async function sampleOf(context: Context, now: Date): Promise<string> {
  const { argument: type } = context;
  const payload = await samplePayload(context);
  const [domain = 'resource'] = type.split('.');
  const { id } = JSON.parse(payload) as { id?: unknown };
  const event = {
    id: newId('EVT', now),
    type,
    organization_id: 'ORG-sample',
    workspace_id: null,
    actor: { type: 'user', id: 'USR-sample' },
    subject: { type: domain, id: typeof id === 'string' ? id : 'SAMPLE-1' },
    created_at: now.toISOString(),
  };
  return `${JSON.stringify(event).slice(0, -1)},"payload":${payload}}`;
}

/** Returns the sample of the service or, if that cannot be queried, of this package. */
async function samplePayload(context: Context): Promise<string> {
  const { argument } = context;
  const known = signedRequest(argument as 'invoice.paid', { secret: 'unused-secret-0000' }).event
    .data as object;
  const bundled = Object.keys(known).length > 0 ? JSON.stringify(known) : undefined;
  if (bundled !== undefined && argument.startsWith('webhook.')) return bundled;
  // Without anything to fall back to, the service may take as long as for any other request.
  const call = bundled === undefined ? {} : undefined;
  const served = await servedTypes(context, call).catch((error: Error) => error);
  if (served instanceof Error) {
    if (bundled !== undefined) return bundled;
    if (served instanceof PosthornError) throw served;
    throw new CommandFailure(
      `'${argument}' is not a built-in event type.${suggestionFor(argument, sampleTypes)} ` +
        `The service may have it, but could not be queried. ${served.message}`,
    );
  }
  const { types, texts } = served;
  const found = types.find(({ type }) => type === argument);
  if (!found) throw unknownType(argument, types);
  return memberOf(texts.of(found), 'sample') ?? '{}';
}

/** Refuses a payload that the schema of the service refuses. Without a service, no schema is known. */
async function requireValid(context: Context, { type, payload }: Event): Promise<void> {
  const { types } = await servedTypes(context).catch(() => ({ types: [] }));
  const found = types.find((one) => one.type === type);
  if (!found) return;
  const { fromJsonSchema } = await import('@modelcontextprotocol/server');
  const { issues } = await fromJsonSchema(found.schema as never)['~standard'].validate(payload);
  const faults = issues?.map(({ message }) => message.replaceAll('data/', 'payload.')).join(', ');
  if (faults)
    throw new UsageError(
      `--set: the schema refuses it: ${faults}. Run posthorn types ${type} to see the schema.`,
    );
}

/** Returns the JSON of an event with a change. */
type Change = (event: string) => string;

const changeable = ['payload', 'organization_id', 'workspace_id', 'id', 'created_at', 'actor', 'subject'];

function changeOf(text: string): Change {
  const equals = text.indexOf('=');
  const path = text.slice(0, equals).split('.');
  const [first = ''] = path;
  if (equals < 1 || path.includes('') || path.some((part) => part === '__proto__'))
    throw invalid('set', text, 'a path and a value, such as payload.amount_minor=100');
  if (!changeable.includes(first))
    throw new UsageError(
      `--set: '${first}' cannot be set. The path must start with one of ${changeable.join(', ')}.`,
    );
  const written = text.slice(equals + 1);
  let value = written.trim();
  try {
    JSON.parse(written);
  } catch {
    value = JSON.stringify(written);
  }
  return (event) => {
    const next = withValue(event, path, value);
    if (next !== undefined) return next;
    throw new UsageError(
      `--set: '${path.join('.')}' does not exist. To change an array, use a zero-based index.`,
    );
  };
}

function failureOf({ status, durationMs, response, location, failure }: ForwardResult, url: URL): string {
  if (failure)
    return `No response from ${url}: ${failure.error}. ${failure.remedy} Then run the command again.`;
  if (location !== null)
    return (
      `The receiver responded with ${status} in ${durationMs} ms and redirected to ${location}\n` +
      'Redirects are not followed. Send to that URL with --to, or respond with 2xx instead of a redirect.'
    );
  const said = response.trim() === '' ? '' : `: ${responseText(response)}`;
  const next =
    status === 400 || status === 401 || status === 403
      ? 'If the receiver refused the signature, check that it has the secret that signed the request (--secret). To find ' +
        'out more, save the request at the receiver and run posthorn verify.'
      : 'Look at the logs of the receiver, then run the command again.';
  return `The receiver responded with ${status} in ${durationMs} ms${said}\n${next}`;
}
