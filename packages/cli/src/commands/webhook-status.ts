import type { Posthorn } from '@posthorn/client';
import { CommandFailure, sets } from '../command.js';
import { type ApiContext, apiCommand, printResult } from '../connection.js';
import { json } from '../listing.js';
import { responseText } from '../response-text.js';
import { onWebhook, webhookArgument } from './webhooks.js';

const command = (name: string, summary: string, run: (context: ApiContext) => Promise<void>) =>
  apiCommand({ name: `webhooks ${name}`, summary, argument: webhookArgument, options: { json }, run });

export const webhooksTest = apiCommand({
  name: 'webhooks test',
  summary:
    'Send a test event to a webhook, and show the response. Fails if the receiver does not accept the event.',
  argument: webhookArgument,
  options: {
    type: sets(
      'event_type',
      'type',
      'Event type to send. Default: the first type that the webhook subscribes to.',
    ),
    json,
  },
  run: async (context) => {
    const { terminal, posthorn, fields } = context;
    const id = fields.webhook_id;
    const event_type = fields.event_type ?? (await typeFor(posthorn, id));
    const result = await posthorn.webhooks.test(id, { event_type });
    const { status, http_status, error, response_time_ms, error_detail, remedy, response } = result;
    printResult(context, result, () => {
      const verdict = terminal.paint(status === 'success' ? 'green' : 'red', status);
      terminal.line(
        `${verdict}: ${event_type} to ${result.request.url}, ${http_status ?? error} in ${response_time_ms} ms`,
      );
      if (response) terminal.line(`The receiver responded: ${responseText(response)}`);
    });
    if (status === 'failed')
      throw new CommandFailure(
        `The test failed: ${error_detail} ${remedy} Then run posthorn webhooks test ${id} again.`,
      );
  },
});

/** Returns a type that the webhook subscribes to. */
async function typeFor(posthorn: Posthorn, id: string): Promise<string> {
  const [{ event_types }, types] = await Promise.all([
    posthorn.webhooks.get(id),
    posthorn.eventTypes.list().all(),
  ]);
  const [first = '*'] = event_types;
  const prefix = first.endsWith('*') ? first.slice(0, -1) : first;
  return types.find(({ type }) => type.startsWith(prefix))?.type ?? first;
}

/** In the order of the help. */
export const webhookStatus = [
  command(
    'verify',
    'Verify the URL of a webhook again: the receiver must respond with 200 within 5 seconds. Fails if it does not.',
    onWebhook(({ posthorn }, id) => posthorn.webhooks.verify(id), 'must be active'),
  ),
  webhooksTest,
  command(
    'pause',
    'Pause a webhook. Nothing is sent to it, and its deliveries wait until it is resumed.',
    onWebhook(({ posthorn }, id) => posthorn.webhooks.change(id, { status: 'paused' })),
  ),
  command(
    'resume',
    'Resume a paused webhook. What waits is sent, oldest first.',
    onWebhook(async ({ posthorn }, id) => {
      const webhook = await posthorn.webhooks.get(id);
      if (webhook.status === 'paused') return posthorn.webhooks.change(id, { status: 'active' });
      throw new CommandFailure(`The webhook is ${webhook.status}. Only a paused webhook can be resumed.`);
    }),
  ),
  command(
    'disable',
    'Disable a webhook. Waiting deliveries fail without any further attempts. To send their events later, run posthorn deliveries replay.',
    onWebhook(({ posthorn }, id) => posthorn.webhooks.change(id, { status: 'disabled' })),
  ),
  command(
    'activate',
    'Activate a disabled webhook. Its URL is verified first. Fails if it cannot be verified.',
    onWebhook(({ posthorn }, id) => posthorn.webhooks.change(id, { status: 'active' }), 'must be active'),
  ),
];
