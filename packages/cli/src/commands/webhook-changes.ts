import { readFileSync } from 'node:fs';
import { type ChangeWebhookRequest, PosthornError } from '@posthorn/client';
import { type Command, type Context, type Options, UsageError } from '../command.js';
import { connect, connectionOptions } from '../connection.js';
import { partsOf, uncertain } from '../failure.js';
import { withValue } from '../json-text.js';
import { givenSecret, newSecret } from '../listen-state.js';
import { json, listOf } from '../listing.js';
import { canPrompt, promptHidden, requireConfirmation } from '../prompt.js';
import { webhookId } from '../short-id.js';
import type { Terminal } from '../terminal.js';
import {
  isInFuture,
  onWebhook,
  reverificationText,
  showNext,
  showWebhook,
  webhookArgument,
} from './webhooks.js';

const settings = {
  events: {
    value: 'a,b',
    description: "Event types, whole domains (domain.*), or '*', separated by commas.",
  },
  description: { value: 'text', description: 'A name or a note for your own use.' },
  'rate-limit': { value: 'n', description: "Maximum number of requests per second, or 'none'." },
  'retry-schedule': {
    value: 'a,b',
    description:
      "Waits before the second and later attempts, such as 30s,10m,6h, or 'none' for the service's.",
  },
  expires: {
    value: 'time',
    description: "When the webhook is deleted: a time, or a duration from now, such as 30d, or 'none'.",
  },
  header: {
    value: 'name:value',
    description: 'A header that every request carries. Can be repeated.',
    repeats: true,
  },
  filter: {
    value: 'file|json',
    description: "Which of these events to send: JSON, or a file with it, or 'none'.",
  },
  format: {
    value: 'format',
    description: 'The body of the requests: envelope, event, thin, cloudevents, slack or template.',
  },
  template: {
    value: 'file|json',
    description: "The body, for the format template: JSON, or a file with it, or 'none'.",
  },
} as const;

const secret = {
  value: 'secret',
  description:
    'Secret that signs the requests, 16 to 256 characters. If omitted, one is generated and printed once.',
} as const;

const webhooksCreate: Command = {
  name: 'webhooks create',
  summary: 'Create a webhook and verify its URL.',
  argument: { name: 'receiver-url', description: 'The URL that events are sent to.' },
  options: {
    ...settings,
    events: { ...settings.events, fallback: '*' },
    workspace: { value: 'WS-x', description: 'Send only events from this workspace.' },
    secret: { ...secret, description: `${secret.description} Environment: POSTHORN_WEBHOOK_SECRET.` },
    disabled: { description: 'Do not verify the webhook until it is activated.' },
    json,
    ...connectionOptions,
  },
  run: async (context) => {
    const { options, env, terminal, argument } = context;
    const { posthorn, texts, organization } = await connect(context);
    const secret = chosenSecret(givenSecret(options, env));
    const request = {
      organization_id: await organization(),
      url: argument,
      ...changeOf(context, options),
      event_types: listOf(options.events ?? '*'),
      ...(options.workspace !== undefined && { workspace_id: options.workspace }),
      secret: secret.text,
      ...(options.disabled && { status: 'disabled' as const }),
    };
    const webhook = await posthorn.webhooks.create(request).catch((error) => {
      const maybe = `The webhook may have been created, with the secret ${secret.text}.`;
      if (!secret.isGenerated) throw error;
      throw uncertain(error, webhooksCreate, `${maybe} Run posthorn webhooks list to check.`);
    });
    terminal.shownOnce = onceText(webhook, secret);
    if (options.json) {
      terminal.line(withSecret(texts.of(webhook), secret));
      return;
    }
    showWebhook(terminal, webhook, secretField(terminal, secret));
    if (webhook.status === 'unverified') terminal.line(reverificationText(webhook.id));
  },
};

const webhooksUpdate: Command = {
  name: 'webhooks update',
  summary: 'Change a webhook. A new URL is verified.',
  argument: webhookArgument,
  options: {
    'receiver-url': { value: 'URL', description: 'The URL that events are sent to from now on.' },
    ...settings,
    header: { ...settings.header, description: `${settings.header.description} Replaces all headers.` },
    'no-headers': { description: 'Remove all headers.' },
    json,
    ...connectionOptions,
  },
  run: onWebhook(({ posthorn }, id, context) => {
    const change = changeOf(context, context.options);
    if (Object.keys(change).length === 0)
      throw new UsageError(
        'There is nothing to change. Run posthorn webhooks update --help to see the options.',
      );
    return posthorn.webhooks.change(id, change).catch(async (error) => {
      const isAsked =
        error instanceof PosthornError && error.code === 'secrets_required' && canPrompt(context);
      if (!isAsked) throw error;
      context.terminal.note(
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
};

const webhooksPreview: Command = {
  name: 'webhooks preview',
  summary: 'Show which past events a webhook would have got. Changes nothing.',
  options: {
    events: { ...settings.events, fallback: '*' },
    workspace: { value: 'WS-x', description: 'Only events from this workspace.' },
    ...{ filter: settings.filter, format: settings.format, template: settings.template },
    from: { value: 'time', description: 'Start of the time range. Default: 24 hours before its end.' },
    to: { value: 'time', description: 'End of the time range. Default: now.' },
    json,
    ...connectionOptions,
  },
  run: async (context) => {
    const { options, terminal } = context;
    const { posthorn, texts, organization } = await connect(context);
    const preview = await posthorn.webhooks.preview({
      organization_id: await organization(),
      event_types: listOf(options.events ?? '*'),
      ...(options.workspace !== undefined && { workspace_id: options.workspace }),
      ...contentOf(options),
      ...(options.from !== undefined && { from: options.from }),
      ...(options.to !== undefined && { to: options.to }),
    });
    if (options.json) {
      terminal.line(texts.of(preview));
      return;
    }
    const { matched, examined, is_complete, from, to, events } = preview;
    const part = is_complete ? 'all' : 'the newest';
    terminal.line(`${matched} of ${part} ${examined} events from ${from} to ${to} match.`);
    for (const { created_at, type, id, body } of events) {
      terminal.line(`${created_at}  ${type}  ${id}`);
      if (body !== undefined) terminal.line(body);
    }
  },
};

const webhooksRotate: Command = {
  name: 'webhooks rotate',
  summary:
    'Replace the secret of a webhook. During the grace period, requests are signed with both secrets. If a secret from an earlier rotation is still in its grace period, it becomes invalid immediately.',
  argument: webhookArgument,
  options: {
    secret,
    grace: {
      value: '24h',
      description: 'How long the old secret stays valid, at most 30d.',
      fallback: '24h',
    },
    json,
    ...connectionOptions,
  },
  run: async (context) => {
    const { options, terminal, argument } = context;
    const connection = await connect(context);
    const { grace } = options;
    // Not from the environment, which may have the secret that is replaced.
    const secret = chosenSecret(options.secret);
    const id = await webhookId(connection, argument);
    const { previous_secret_until: before } = await connection.posthorn.webhooks.get(id);
    const hadOlder = isInFuture(before);
    const request = { secret: secret.text, ...(grace !== undefined && { grace }) };
    const webhook = await connection.posthorn.webhooks.rotateSecret(id, request).catch((error) => {
      const maybe = `The secret may have been replaced with ${secret.text}.`;
      const next =
        `Run posthorn webhooks get ${id} --json to check: previous_secret_until is the end of the grace period of ` +
        'the last rotation.';
      if (!secret.isGenerated) throw error;
      throw uncertain(error, webhooksRotate, `${maybe} ${next}`);
    });
    terminal.shownOnce = onceText(webhook, secret);
    if (options.json) {
      terminal.line(withSecret(connection.texts.of(webhook), secret));
      return;
    }
    showWebhook(terminal, webhook, [
      ...secretField(terminal, secret),
      ...(hadOlder ? [['Older secret', 'no longer valid'] as const] : []),
    ]);
    showNext(terminal, webhook);
  },
};

const webhooksDelete: Command = {
  name: 'webhooks delete',
  summary: 'Delete a webhook. Nothing more is sent to it.',
  argument: webhookArgument,
  options: { yes: { description: 'Do not ask for confirmation.' }, json, ...connectionOptions },
  run: async (context) => {
    const { options, terminal, argument } = context;
    const connection = await connect(context);
    const { id, url } = await connection.posthorn.webhooks.get(await webhookId(connection, argument));
    await requireConfirmation(context, `Delete ${id}, which sends to ${url}?`);
    await connection.posthorn.webhooks.delete(id);
    terminal.line(options.json ? JSON.stringify({ id, deleted: true }) : `Deleted ${id}.`);
  },
};

interface Secret {
  text: string;
  isGenerated: boolean;
}

/**
 * Returns the secret of the options, or a generated one. The service could generate it too, but if its response was
 * lost, the repeated request would not return it.
 */
function chosenSecret(secret: string | undefined): Secret {
  return secret === undefined
    ? { text: newSecret(), isGenerated: true }
    : { text: secret, isGenerated: false };
}

function secretField(
  terminal: Terminal,
  { text, isGenerated }: Secret,
): readonly (readonly [string, string])[] {
  if (!isGenerated) return [];
  return [['Secret', terminal.isInteractive ? `${text}\nSave it now. It is not shown again.` : text]];
}

function onceText({ id }: { id: string }, { text, isGenerated }: Secret): string {
  return isGenerated ? `The secret of ${id} is ${text}` : '';
}

function withSecret(webhook: string, { text, isGenerated }: Secret): string {
  return (isGenerated && withValue(webhook, ['secret'], JSON.stringify(text))) || webhook;
}

function changeOf({ lists }: Context, options: Options): Omit<ChangeWebhookRequest, 'status'> {
  const headers = (lists.header ?? []).map(headerOf);
  return {
    ...(options['receiver-url'] !== undefined && { url: options['receiver-url'] }),
    ...(options.events !== undefined && { event_types: listOf(options.events) }),
    ...(options.description !== undefined && { description: options.description || null }),
    ...(options['rate-limit'] !== undefined && { rate_limit: rateOf(options['rate-limit']) }),
    ...(options['retry-schedule'] !== undefined && { retry_schedule: waitsOf(options['retry-schedule']) }),
    ...(options.expires !== undefined && { expires_at: expiryOf(options.expires) }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...(options['no-headers'] && { headers: {} }),
    ...contentOf(options),
  };
}

function contentOf({ filter, format, template }: Options) {
  return {
    ...(filter !== undefined && { filter: jsonOf('filter', filter) }),
    ...(format !== undefined && { format: format as ChangeWebhookRequest['format'] }),
    ...(template !== undefined && { template: jsonOf('template', template) }),
  } as Pick<ChangeWebhookRequest, 'filter' | 'format' | 'template'>;
}

/** Returns the JSON that an option contains, or that is in the file that it names. */
function jsonOf(option: string, given: string): unknown {
  if (given === 'none') return null;
  try {
    return JSON.parse(/^\s*[[{]/.test(given) ? given : readFileSync(given, 'utf8'));
  } catch (error) {
    throw new UsageError(
      `--${option}: '${given}' is not valid. Expected JSON, or a file with it: ${(error as Error).message}`,
    );
  }
}

function rateOf(text: string): number | null {
  if (text === 'none') return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(
    `--rate-limit: '${text}' is not valid. Expected a whole number from 1 to 1000, or none.`,
  );
}

const waitsOf = (text: string) => (text === 'none' ? null : listOf(text));

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function expiryOf(text: string): string | null {
  if (text === 'none') return null;
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (!count) return text;
  return new Date(Date.now() + Number(count) * unitMs[unit as keyof typeof unitMs]).toISOString();
}

function headerOf(text: string): [string, string] {
  const colon = text.indexOf(':');
  if (colon > 0) return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  throw new UsageError(
    `--header: '${text}' is not valid. Expected a name and a value, such as 'X-Team: billing'.`,
  );
}

/** In the order of the help. */
export const webhookChanges: readonly Command[] = [
  webhooksCreate,
  webhooksUpdate,
  webhooksPreview,
  webhooksRotate,
  webhooksDelete,
];
