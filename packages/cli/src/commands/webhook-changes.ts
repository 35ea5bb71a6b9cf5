import { readFileSync } from 'node:fs';
import type { CreatedWebhook, CreateWebhookRequest, PreviewWebhookRequest, Webhook } from '@posthorn/client';
import { PosthornError } from '@posthorn/client';
import { type Command, type Fields, invalid, sets, UsageError } from '../command.js';
import { type ApiContext, apiCommand, printResult } from '../connection.js';
import { partsOf, uncertain } from '../failure.js';
import { withValue } from '../json-text.js';
import { givenSecret, newSecret } from '../listen-state.js';
import { json, listOf } from '../listing.js';
import { canPrompt, promptHidden, requireConfirmation } from '../prompt.js';
import type { Field } from '../terminal.js';
import * as webhooks from './webhooks.js';

const settings = {
  events: sets(
    'event_types',
    'a,b',
    "Event types, whole domains (domain.*), or '*', separated by commas.",
    listOf,
  ),
  description: sets('description', 'text', 'A name or a note for your own use.', (text) => text || null),
  'rate-limit': sets('rate_limit', 'n', "Maximum number of requests per second, or 'none'.", rateOf),
  'retry-schedule': sets(
    'retry_schedule',
    'a,b',
    "Waits before the second and later attempts, such as 30s,10m,6h, or 'none' for the service's.",
    orNone(listOf),
  ),
  expires: sets(
    'expires_at',
    'time',
    "When the webhook is deleted: a time, or a duration from now, such as 30d, or 'none'.",
    orNone(expiryOf),
  ),
  header: {
    ...sets('headers', 'name:value', 'A header that every request carries. Can be repeated.', headerOf),
    repeats: true,
  },
  filter: sets(
    'filter',
    'file|json',
    "Which of these events to send: JSON, or a file with it, or 'none'.",
    orNone(jsonOf),
  ),
  format: sets(
    'format',
    'format',
    'The body of the requests: envelope, event, thin, cloudevents, slack or template.',
  ),
  template: sets(
    'template',
    'file|json',
    "The body, for the format template: JSON, or a file with it, or 'none'.",
    orNone(jsonOf),
  ),
};

const secret = {
  value: 'secret',
  description:
    'Secret that signs the requests, 16 to 256 characters. If omitted, one is generated and printed once.',
} as const;

const webhooksCreate = apiCommand({
  name: 'webhooks create',
  summary: 'Create a webhook and verify its URL.',
  argument: { name: 'receiver-url', description: 'The URL that events are sent to.', field: 'url' },
  options: {
    ...settings,
    events: { ...settings.events, fallback: '*' },
    workspace: sets('workspace_id', 'WS-x', 'Send only events from this workspace.'),
    secret: { ...secret, description: `${secret.description} Environment: POSTHORN_WEBHOOK_SECRET.` },
    disabled: {
      field: 'status',
      read: () => 'disabled',
      description: 'Do not verify the webhook until it is activated.',
    },
    json,
  },
  run: async (context) => {
    const { options, env, terminal, posthorn } = context;
    const organization_id = await context.organization();
    const webhook = await withSecret(context, webhooksCreate, givenSecret(options, env), {
      send: (secret) => {
        const settings = changeOf(context) as CreateWebhookRequest;
        return posthorn.webhooks.create({ ...settings, organization_id, secret });
      },
      uncertain: (secret) =>
        `The webhook may have been created, with the secret ${secret}. Run posthorn webhooks list to check.`,
    });
    if (!options.json && webhook.status === 'unverified')
      terminal.line(webhooks.reverificationText(webhook.id));
  },
});

const webhooksUpdate = apiCommand({
  name: 'webhooks update',
  summary: 'Change a webhook. A new URL is verified.',
  argument: webhooks.webhookArgument,
  options: {
    'receiver-url': sets('url', 'URL', 'The URL that events are sent to from now on.'),
    ...settings,
    header: { ...settings.header, description: `${settings.header.description} Replaces all headers.` },
    'no-headers': { description: 'Remove all headers.' },
    json,
  },
  run: webhooks.onWebhook((context, id) => {
    const { posthorn, terminal } = context;
    const change = changeOf(context);
    if (Object.keys(change).length === 0)
      throw new UsageError(
        'There is nothing to change. Run posthorn webhooks update --help to see the options.',
      );
    return posthorn.webhooks.change(id, change).catch(async (error) => {
      const isAsked =
        error instanceof PosthornError && error.code === 'secrets_required' && canPrompt(context);
      if (!isAsked) throw error;
      terminal.note(
        'The new URL is on another server. Stored header values are sent only to the server that they were given for, so ' +
          'enter them again.',
      );
      const headers: Record<string, string> = {};
      for (const { pointer = '' } of error.errors) {
        const name = partsOf(pointer)[1] ?? '';
        headers[name] = await promptHidden(context, `Value of ${name}`);
      }
      return posthorn.webhooks.change(id, { ...change, headers });
    });
  }),
});

const webhooksPreview = apiCommand({
  name: 'webhooks preview',
  summary: 'Show which past events a webhook would have got. Changes nothing.',
  options: {
    events: { ...settings.events, fallback: '*' },
    workspace: sets('workspace_id', 'WS-x', 'Only events from this workspace.'),
    filter: settings.filter,
    format: settings.format,
    template: settings.template,
    from: sets('from', 'time', 'Start of the time range. Default: 24 hours before its end.'),
    to: sets('to', 'time', 'End of the time range. Default: now.'),
    json,
  },
  run: async (context) => {
    const { terminal, posthorn, fields } = context;
    const organization_id = await context.organization();
    const asked = fields as PreviewWebhookRequest;
    const preview = await posthorn.webhooks.preview({ ...asked, organization_id });
    printResult(context, preview, () => {
      const { matched, examined, is_complete, from, to, events } = preview;
      const part = is_complete ? 'all' : 'the newest';
      terminal.line(`${matched} of ${part} ${examined} events from ${from} to ${to} match.`);
      for (const { created_at, type, id, body } of events) {
        terminal.line(`${created_at}  ${type}  ${id}`);
        if (body !== undefined) terminal.line(body);
      }
    });
  },
});

const webhooksRotate = apiCommand({
  name: 'webhooks rotate',
  summary:
    'Replace the secret of a webhook. During the grace period, requests are signed with both secrets. If a secret from an earlier rotation is still in its grace period, it becomes invalid immediately.',
  argument: webhooks.webhookArgument,
  options: {
    secret,
    grace: {
      ...sets('grace', '24h', 'How long the old secret stays valid, at most 30d.'),
      fallback: '24h',
    },
    json,
  },
  run: async (context) => {
    const { options, terminal, posthorn, fields } = context;
    const { webhook_id: id, grace } = fields;
    const { previous_secret_until: before } = await posthorn.webhooks.get(id);
    const hadOlder = webhooks.isInFuture(before);
    // Not from the environment, which may have the secret that is replaced.
    const webhook = await withSecret(context, webhooksRotate, options.secret, {
      send: (secret) => posthorn.webhooks.rotateSecret(id, { secret, grace }),
      uncertain: (secret) =>
        `The secret may have been replaced with ${secret}. Run posthorn webhooks get ${id} --json to check: ` +
        'previous_secret_until is the end of the grace period of the last rotation.',
      further: [['Older secret', hadOlder && 'no longer valid']],
    });
    if (!options.json) terminal.next(webhooks.nextStep(webhook));
  },
});

const webhooksDelete = apiCommand({
  name: 'webhooks delete',
  summary: 'Delete a webhook. Nothing more is sent to it.',
  argument: webhooks.webhookArgument,
  options: { yes: { description: 'Do not ask for confirmation.' }, json },
  run: async (context) => {
    const { options, terminal, posthorn, fields } = context;
    const { id, url } = await posthorn.webhooks.get(fields.webhook_id);
    await requireConfirmation(context, `Delete ${id}, which sends to ${url}?`);
    await posthorn.webhooks.delete(id);
    terminal.line(options.json ? JSON.stringify({ id, deleted: true }) : `Deleted ${id}.`);
  },
});

interface SecretRequest<Result> {
  send: (secret: string) => Promise<Result>;
  /** Returns what to print if the request failed, but may have taken effect. */
  uncertain: (secret: string) => string;
  further?: readonly Field[];
}

/**
 * Sends a request with a secret, and prints the webhook. Without a given secret, it generates one, and prints it. The
 * service could generate it too, but if its response was lost, the repeated request would not return it.
 */
async function withSecret<Result extends CreatedWebhook & Partial<Webhook>>(
  { options, terminal, texts }: ApiContext,
  command: Command,
  given: string | undefined,
  { send, uncertain: note, further = [] }: SecretRequest<Result>,
): Promise<Result> {
  const secret = given ?? newSecret();
  const isGenerated = given === undefined;
  const webhook = await send(secret).catch((error) => {
    throw isGenerated ? uncertain(error, command, note(secret)) : error;
  });
  if (isGenerated) terminal.shownOnce = `The secret of ${webhook.id} is ${secret}`;
  const text = texts.of(webhook);
  if (options.json)
    terminal.line((isGenerated && withValue(text, ['secret'], JSON.stringify(secret))) || text);
  else {
    const shown = terminal.isInteractive ? `${secret}\nSave it now. It is not shown again.` : secret;
    webhooks.showWebhook(terminal, webhook, [['Secret', isGenerated && shown], ...further]);
  }
  return webhook;
}

function orNone<T>(read: (text: string, option: string) => T) {
  return (text: string, option: string) => (text === 'none' ? null : read(text, option));
}

/** Returns the JSON that an option contains, or that is in the file that it names. */
function jsonOf(given: string, option: string): unknown {
  try {
    return JSON.parse(/^\s*[[{]/.test(given) ? given : readFileSync(given, 'utf8'));
  } catch (error) {
    throw invalid(option, given, `JSON, or a file with it: ${(error as Error).message}`);
  }
}

function rateOf(text: string, option: string): number | null {
  if (text === 'none') return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw invalid(option, text, 'a whole number from 1 to 1000, or none');
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function expiryOf(text: string): string {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (!count) return text;
  return new Date(Date.now() + Number(count) * unitMs[unit as keyof typeof unitMs]).toISOString();
}

/** Returns the settings that the command line changes. */
function changeOf({ options, fields: { webhook_id: _, headers, ...others } }: ApiContext): Fields {
  const isSet = headers || options['no-headers'];
  return { ...others, ...(isSet && { headers: Object.fromEntries(headers ?? []) }) };
}

function headerOf(text: string): [string, string] {
  const colon = text.indexOf(':');
  if (colon > 0) return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  throw invalid('header', text, "a name and a value, such as 'X-Team: billing'");
}

/** In the order of the help. */
export const webhookChanges = [
  webhooksCreate,
  webhooksUpdate,
  webhooksPreview,
  webhooksRotate,
  webhooksDelete,
];
