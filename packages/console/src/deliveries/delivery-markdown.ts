import type { DeliveryDetail, Webhook } from '@posthorn/client';
import { webhookName } from '../api/webhook-name';
import { outcomeOf } from '../text/outcome';

const fence = '```';
const quotedMax = 4_000;

/** Returns a delivery as Markdown for a ticket: what happened, what to do, the attempts and the last response. */
export function deliveryMarkdown(delivery: DeliveryDetail, webhook: Webhook | undefined): string {
  const { attempt_log: attempts, request } = delivery;
  const latest = attempts.at(-1);
  const block = (title: string, text: string | null | undefined) =>
    text
      ? [
          `**${title}**`,
          '',
          fence,
          text.slice(0, quotedMax).replaceAll(fence, '\u2032\u2032\u2032'),
          fence,
          '',
        ]
      : [];
  return [
    `### ${delivery.event_type} to ${webhook ? webhookName(webhook) : delivery.webhook_id}`,
    '',
    ...(latest?.error_detail ? [`${latest.error_detail} ${latest.remedy ?? ''}`.trim(), ''] : []),
    `- Delivery: \`${delivery.id}\` (${location.origin}/console/webhooks/${delivery.webhook_id}/deliveries/${delivery.id})`,
    `- Event: \`${delivery.event_id}\``,
    ...(request?.url ? [`- URL: \`${request.url}\``] : []),
    ...(delivery.next_attempt_at ? [`- Next attempt: ${delivery.next_attempt_at}`] : []),
    '',
    '| Attempt | Time | Result | Duration |',
    '|---|---|---|---|',
    ...attempts.map(
      (one) =>
        `| ${one.attempt} | ${one.attempted_at} | ${outcomeOf(one)} | ${one.duration_ms === null ? '' : `${one.duration_ms} ms`} |`,
    ),
    '',
    ...block('Request body', request?.body),
    ...block('Response', latest?.response),
  ].join('\n');
}
