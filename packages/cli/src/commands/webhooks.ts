import type { Webhook } from '@posthorn/client';
import { type Command, CommandFailure, type Context } from '../command.js';
import { type Connection, connect, connectionOptions } from '../connection.js';
import { json, jsonLines } from '../listing.js';
import { responseText } from '../response-text.js';
import { webhookId } from '../short-id.js';
import { utcTime } from '../short-time.js';
import type { Column } from '../table.js';
import type { Terminal } from '../terminal.js';

/** The argument of every command that is about one webhook. */
export const webhookArgument = {
  name: 'id',
  description: 'Webhook ID, WHK-…, or enough of its ending to be unique.',
} as const;

export const webhooksList: Command = {
  name: 'webhooks list',
  summary: 'List webhooks, newest first.',
  options: { json: jsonLines, ...connectionOptions },
  run: async (context) => {
    const { options, terminal } = context;
    const { posthorn, texts } = await connect(context);
    const webhooks = await posthorn.webhooks.list().all();
    if (options.json) for (const webhook of webhooks) terminal.line(texts.of(webhook));
    else if (webhooks.length > 0 || !terminal.isInteractive) terminal.table(columns, webhooks);
    else terminal.line('There are no webhooks. Run posthorn webhooks create <receiver-url> to create one.');
  },
};

const columns: readonly Column<Webhook>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'status', of: statusText },
  { title: 'URL', of: ({ url }) => url, cuts: true },
  { title: 'last', of: ({ last_delivery_status }) => last_delivery_status ?? '-', spare: 1 },
  { title: 'events', of: ({ event_types }) => event_types.join(','), spare: 2, cuts: true },
  { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 4 },
  { title: 'description', of: ({ description }) => description ?? '-', spare: 3, cuts: true },
];

function statusText({ status, disabled_reason }: Pick<Webhook, 'status' | 'disabled_reason'>): string {
  return disabled_reason === null ? status : `${status} (${disabled_reason})`;
}

export const webhooksGet: Command = {
  name: 'webhooks get',
  summary: 'Show one webhook: its settings, its status and its statistics for the last 48 hours.',
  argument: webhookArgument,
  options: { json, ...connectionOptions },
  run: async (context) => {
    const connection = await connect(context);
    const id = await webhookId(connection, context.argument);
    const webhook = await connection.posthorn.webhooks.get(id);
    if (context.options.json) {
      context.terminal.line(connection.texts.of(webhook));
      return;
    }
    const stats = await connection.posthorn.webhooks.stats(id);
    showWebhook(context.terminal, webhook, [
      ['Last 48 hours', `${stats.success} delivered, ${stats.failed} given up, ${stats.pending} pending`],
      [
        'Duration',
        stats.duration_ms.p50 === null
          ? '-'
          : `p50 ${stats.duration_ms.p50} ms, p95 ${stats.duration_ms.p95} ms`,
      ],
    ]);
  },
};

/** Prints a webhook. If it does not work, also prints why and what to do about it. */
export function showWebhook(
  terminal: Terminal,
  webhook: Pick<
    Webhook,
    | 'id'
    | 'url'
    | 'status'
    | 'event_types'
    | 'workspace_id'
    | 'description'
    | 'rate_limit'
    | 'headers'
    | 'created_at'
  > &
    Partial<
      Pick<
        Webhook,
        | 'disabled_reason'
        | 'last_delivery_at'
        | 'last_delivery_status'
        | 'previous_secret_until'
        | 'verification_failure'
      >
    >,
  further: readonly (readonly [string, string])[] = [],
): void {
  const { status, disabled_reason = null, verification_failure: failure, last_delivery_at: lastAt } = webhook;
  const { previous_secret_until: graceEnd } = webhook;
  const color = status === 'active' ? 'green' : 'red';
  terminal.fields([
    ['Webhook', webhook.id],
    ['URL', webhook.url],
    ['Status', terminal.paint(color, statusText({ status, disabled_reason }))],
    ['Events', webhook.event_types.join(', ')],
    ['Workspace', webhook.workspace_id ?? 'all'],
    ['Description', webhook.description ?? '-'],
    ['Rate limit', webhook.rate_limit === null ? 'none' : `${webhook.rate_limit} per second`],
    ['Headers', Object.keys(webhook.headers).join(', ') || 'none'],
    ['Created', utcTime(new Date(webhook.created_at))],
    ...(lastAt
      ? [['Last delivery', `${webhook.last_delivery_status} at ${utcTime(new Date(lastAt))}`] as const]
      : []),
    ...further,
    ...(isInFuture(graceEnd) ? [['Old secret', `valid until ${utcTime(new Date(graceEnd))}`] as const] : []),
  ]);
  if (failure) {
    terminal.line();
    terminal.line(`Verification failed: ${failure.error_detail} ${failure.remedy}`);
    if (failure.response) terminal.line(`The receiver responded: ${responseText(failure.response)}`);
  }
  const next = nextStep(webhook.id, status, webhook.last_delivery_status ?? null);
  if (next !== undefined && terminal.isInteractive) terminal.line(terminal.paint('dim', `Next: ${next}`));
}

function nextStep(
  id: string,
  status: Webhook['status'],
  last: Webhook['last_delivery_status'],
): string | undefined {
  if (status === 'unverified') return `posthorn webhooks verify ${id}`;
  if (status === 'disabled') return `posthorn webhooks activate ${id}`;
  return last === 'failed' ? `posthorn deliveries list --webhook ${id} --status failed` : undefined;
}

type WebhookWork = (connection: Connection, id: string, context: Context) => Promise<Webhook>;

/** Runs `work` on the webhook of the argument, and prints the resulting webhook. */
export function onWebhook(work: WebhookWork): Command['run'] {
  return async (context) => {
    await printedWebhook(context, work);
  };
}

/** Runs `work` on the webhook of the argument, prints the resulting webhook, and fails if it is not active. */
export function activating(work: WebhookWork): Command['run'] {
  return async (context) => {
    const { id, status } = await printedWebhook(context, work);
    if (status !== 'active') throw new CommandFailure(`The webhook is ${status}. ${reverificationText(id)}`);
  };
}

/** Returns when the service verifies a webhook again whose verification has just failed, and how to do it now. */
export function reverificationText(id: string): string {
  return (
    'The service verifies it again in 1 minute, then after 5 minutes, 30 minutes, 2 hours and 12 hours. ' +
    `To verify it now, run posthorn webhooks verify ${id}.`
  );
}

async function printedWebhook(context: Context, work: WebhookWork): Promise<Webhook> {
  const connection = await connect(context);
  const webhook = await work(connection, await webhookId(connection, context.argument), context);
  if (context.options.json) context.terminal.line(connection.texts.of(webhook));
  else showWebhook(context.terminal, webhook);
  return webhook;
}

/** Returns whether a time is set and in the future. */
export function isInFuture(iso: string | null | undefined): iso is string {
  return typeof iso === 'string' && Date.parse(iso) > Date.now();
}
