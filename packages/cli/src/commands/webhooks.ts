import type { CreatedWebhook, DeliveryDetail, Posthorn, Webhook } from '@posthorn/client';
import { CommandFailure } from '../command.js';
import { type ApiContext, apiCommand, printResult } from '../connection.js';
import { json, jsonLines } from '../listing.js';
import { responseText } from '../response-text.js';
import { utcTime } from '../short-time.js';
import type { Column } from '../table.js';
import type { Field, Terminal } from '../terminal.js';

/** The argument of every command that is about one webhook. */
export const webhookArgument = {
  name: 'id',
  description: 'Webhook ID, WHK-…, or enough of its ending to be unique, or its description.',
  field: 'webhook_id',
} as const;

const webhooksList = apiCommand({
  name: 'webhooks list',
  summary: 'List webhooks, newest first.',
  options: { json: jsonLines },
  run: async ({ options, terminal, posthorn, texts }) => {
    const webhooks = await posthorn.webhooks.list().all();
    if (options.json) for (const webhook of webhooks) terminal.line(texts.of(webhook));
    else if (webhooks.length > 0 || !terminal.isInteractive) terminal.table(columnsFor(webhooks), webhooks);
    else terminal.line('There are no webhooks. Run posthorn webhooks create <receiver-url> to create one.');
  },
});

/**
 * In a terminal, the description comes before everything else, because people know their webhooks by it. If only some
 * webhooks have one, the others show their URL there.
 */
function columnsFor(webhooks: readonly Webhook[]): readonly Column<Webhook>[] {
  const isDescribed = webhooks.some(({ description }) => description !== null);
  return [
    { title: 'id', of: ({ id }) => id },
    {
      title: 'description',
      of: ({ description }) => description ?? '-',
      short: ({ description, url }) => description ?? (isDescribed ? url : '-'),
      spare: 1,
      cuts: true,
    },
    {
      title: 'status',
      of: statusText,
      short: (webhook) => statusText(webhook) + (isLastFailed(webhook) ? ' (last failed)' : ''),
    },
    { title: 'URL', of: ({ url }) => url, spare: 2, cuts: true },
    { title: 'last', of: ({ last_delivery_status }) => last_delivery_status ?? '-', spare: 4 },
    { title: 'events', of: ({ event_types }) => event_types.join(','), spare: 3, cuts: true },
    { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 5 },
  ];
}

function statusText({ status, disabled_reason }: Pick<Webhook, 'status' | 'disabled_reason'>): string {
  return disabled_reason === null ? status : `${status} (${disabled_reason})`;
}

/** Returns whether an active webhook does not work right now. Only its deliveries show whether that was one failure. */
function isLastFailed({ status, last_delivery_status }: Webhook): boolean {
  return status === 'active' && last_delivery_status === 'failed';
}

const webhooksGet = apiCommand({
  name: 'webhooks get',
  summary: 'Show one webhook: its settings, its status and its statistics for the last 48 hours.',
  argument: webhookArgument,
  options: { json },
  run: async (context) => {
    const { terminal, posthorn, fields } = context;
    const webhook = await posthorn.webhooks.get(fields.webhook_id);
    const report = context.options.json ? undefined : await reportOn(webhook, posthorn);
    printResult(context, webhook, () => {
      showWebhook(terminal, webhook, report?.fields, report?.failure);
      if (!report?.failure) terminal.next(nextStep(webhook));
    });
  },
});

/** Returns what else is known about a webhook: its statistics, and why it does not work. */
async function reportOn(webhook: Webhook, posthorn: Posthorn) {
  const { success, failed, pending, duration_ms } = await posthorn.webhooks.stats(webhook.id);
  const { p50, p95 } = duration_ms;
  const fields = [
    // Those that wait for their first attempt and those that wait for a retry are counted together.
    ['Last 48 hours', `${success} delivered, ${failed} given up, ${pending} waiting`],
    ['Duration', p50 === null ? '-' : `p50 ${p50} ms, p95 ${p95} ms`],
  ] as const;
  return { fields, failure: isLastFailed(webhook) ? await latestFailure(posthorn, webhook.id) : undefined };
}

/** Returns the newest delivery whose latest attempt failed. */
async function latestFailure(posthorn: Posthorn, id: string): Promise<DeliveryDetail | undefined> {
  const failed = posthorn.deliveries.list({ webhook_id: id, status: 'failed', limit: 1 });
  const { data } = await failed.search(1, searchedPagesMax);
  return data[0] && posthorn.deliveries.get(id, data[0].id);
}

/** A webhook may have a great many deliveries and few that failed. */
const searchedPagesMax = 5;

/**
 * Prints a webhook. If it does not work, also prints why and what to do about it. `failed` is its newest delivery that
 * failed, if its latest attempt did.
 */
export function showWebhook(
  terminal: Terminal,
  webhook: Omit<CreatedWebhook, 'secret'> & Partial<Webhook>,
  further: readonly Field[] = [],
  failed?: DeliveryDetail,
): void {
  const { status, disabled_reason, verification_failure: failure, last_delivery_at: lastAt } = webhook;
  const { previous_secret_until: graceEnd } = webhook;
  const last = failed?.attempt_log.at(-1);
  const waits = failed && waitingText(failed);
  const health = waits ?? (last?.error_detail ? ', but its latest attempt failed' : '');
  const isWaiting = status === 'paused' || (status === 'active' && waits !== undefined);
  const color = isWaiting ? 'yellow' : status !== 'active' || health ? 'red' : 'green';
  terminal.fields([
    ['Webhook', webhook.id],
    ['URL', webhook.url],
    ['Status', terminal.paint(color, statusText({ status, disabled_reason }) + health)],
    ['Events', webhook.event_types.join(', ')],
    ['Workspace', webhook.workspace_id ?? 'all'],
    ['Description', webhook.description ?? '-'],
    ['Rate limit', webhook.rate_limit === null ? 'none' : `${webhook.rate_limit} per second`],
    [
      'Retries',
      webhook.retry_schedule ? `after ${webhook.retry_schedule.join(', ')}` : 'as the service does',
    ],
    ['Expires', webhook.expires_at && `${utcTime(webhook.expires_at)}, and is then deleted`],
    ['Headers', Object.keys(webhook.headers).join(', ') || 'none'],
    ['Created', utcTime(webhook.created_at)],
    ['Last delivery', lastAt && `${webhook.last_delivery_status} at ${utcTime(lastAt)}`],
    ...further,
    ['Old secret', isInFuture(graceEnd) && `valid until ${utcTime(graceEnd)}`],
  ]);
  if (failure) {
    terminal.line();
    terminal.line(`Verification failed: ${failure.error_detail} ${failure.remedy}`);
    if (failure.response) terminal.line(`The receiver responded: ${responseText(failure.response)}`);
  }
  if (failed && last?.error_detail) {
    terminal.line();
    terminal.line(`Latest failure: ${last.error_detail} ${last.remedy ?? ''}`.trimEnd());
    terminal.line(`To see the request and the response, run posthorn deliveries get ${failed.id}.`);
  }
}

/** If the receiver asked to wait, returns until when. */
function waitingText({ attempt_log, next_attempt_at: next }: DeliveryDetail): string | undefined {
  const { http_status: status, response_headers: headers } = attempt_log.at(-1) ?? {};
  const isAsked = (status === 429 || status === 503) && headers?.['retry-after'] !== undefined;
  if (!isAsked || !isInFuture(next)) return undefined;
  return `, waiting until ${utcTime(next)} because its receiver asked for it`;
}

/** Returns the command that helps with a webhook that does not work. */
export function nextStep({ id, status, last_delivery_status: last }: Webhook): string | undefined {
  if (status === 'unverified') return `posthorn webhooks verify ${id}`;
  if (status === 'disabled') return `posthorn webhooks activate ${id}`;
  if (status === 'paused') return `posthorn webhooks resume ${id}`;
  return last === 'failed' ? `posthorn deliveries list --webhook ${id} --status failed` : undefined;
}

/** Runs `work` on the webhook of the argument, and prints the resulting webhook. Can fail if it is not active then. */
export function onWebhook(
  work: (context: ApiContext, id: string) => Promise<Webhook>,
  check?: 'must be active',
): (context: ApiContext) => Promise<void> {
  return async (context) => {
    const { options, terminal, fields } = context;
    const webhook = await work(context, fields.webhook_id);
    const { id, status } = webhook;
    printResult(context, webhook, () => showWebhook(terminal, webhook));
    // It says how to verify the webhook, so there is no next command to print.
    if (check && status !== 'active')
      throw new CommandFailure(`The webhook is ${status}. ${reverificationText(id)}`);
    if (!options.json) terminal.next(nextStep(webhook));
  };
}

/** Returns when the service verifies a webhook again whose verification has just failed, and how to do it now. */
export function reverificationText(id: string): string {
  return (
    'The service verifies it again in 1 minute, then after 5 minutes, 30 minutes, 2 hours and 12 hours. ' +
    `To verify it now, run posthorn webhooks verify ${id}.`
  );
}

/** Returns whether a time is set and in the future. */
export function isInFuture(iso: string | null | undefined): iso is string {
  return typeof iso === 'string' && Date.parse(iso) > Date.now();
}

/** In the order of the help. */
export const webhookReads = [webhooksList, webhooksGet];
