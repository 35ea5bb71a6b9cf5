import type { Attempt, Delivery, DeliveryDetail } from '@posthorn/client';
import { indentedJson } from './json-text.js';
import { responseText } from './response-text.js';
import { timeColumn, utcTime } from './short-time.js';
import type { Column } from './table.js';
import type { Terminal } from './terminal.js';

const bodyMax = 4_000;

/**
 * Prints a delivery from the conclusion to the details: diagnosis, attempts, request, response, the next command.
 * `later` is the delivery that repeated it.
 */
export function showDelivery(terminal: Terminal, delivery: DeliveryDetail, later?: Delivery): void {
  const { id, event_id, event_type, webhook_id, created_at, attempt_log } = delivery;
  const color = delivery.status === 'success' ? 'green' : 'red';
  terminal.fields([
    ['Delivery', id],
    ['Event', `${event_type} ${event_id}`],
    ['Webhook', webhook_id],
    ['Created', utcTime(created_at)],
    ['Status', terminal.paint(color, statusText(delivery))],
    ['Sent again', later && `${later.id}, ${stateOf(later)}`],
  ]);
  const last = attempt_log.at(-1);
  if (isHeld(delivery))
    heading(
      terminal,
      'Waiting',
      'The webhook is unverified or paused. The next attempt is made after it is verified or resumed.',
      `To see which, and why a verification failed, run posthorn webhooks get ${webhook_id}.`,
      `To verify it again, run posthorn webhooks verify ${webhook_id}; to resume it, posthorn webhooks resume.`,
    );
  if (last?.error_detail)
    heading(terminal, 'Diagnosis', last.error_detail, ...(last.remedy ? [last.remedy] : []));
  if (delivery.error === 'disabled')
    heading(terminal, 'Ended', 'The webhook was disabled, so there will be no further attempts.');
  if (attempt_log.length > 0) {
    heading(terminal, 'Attempts');
    terminal.table(columns, attempt_log);
  }
  const { url, headers, body } = delivery.request;
  const sent = `POST ${url ?? '(the URL has changed since this attempt)'}`;
  showMessage(terminal, 'Request', sent, headers, body && indentedJson(body));
  if (last && last.http_status !== null) {
    const { http_status, response_headers = {}, response } = last;
    showMessage(
      terminal,
      'Response',
      `HTTP status ${http_status}`,
      response_headers,
      response && responseText(response),
    );
  }
  const next = later ? `posthorn deliveries get ${later.id}` : nextStep(delivery);
  if (next !== undefined && terminal.isInteractive) terminal.line();
  terminal.next(next);
}

/** Returns the status with the number of attempts, and when the next attempt is due or what it waits for. */
export function statusText(delivery: DeliveryDetail): string {
  const { attempts, final, next_attempt_at: next } = delivery;
  const count = `${stateOf(delivery)}, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
  if (final) return count;
  if (isHeld(delivery)) return `${count} so far, waiting until the webhook is verified or resumed`;
  return `${count} so far${next ? `, next attempt at ${utcTime(next)}` : ''}`;
}

const columns: readonly Column<Attempt>[] = [
  { title: 'no.', of: ({ attempt }) => String(attempt) },
  timeColumn('time', ({ attempted_at }) => attempted_at),
  { title: 'result', of: ({ http_status, error }) => String(http_status ?? error ?? '-') },
  { title: 'ms', of: ({ duration_ms }) => String(duration_ms ?? '-') },
  { title: 'response', of: ({ response }) => oneLine(responseText(response ?? '')), spare: 1, cuts: true },
];

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim() || '-';
}

function showMessage(
  terminal: Terminal,
  title: string,
  line: string,
  headers: object,
  body: string | null,
): void {
  heading(terminal, title, line);
  for (const [name, value] of Object.entries(headers)) terminal.line(`${name}: ${value ?? '(not shown)'}`);
  if (!body) return;
  terminal.line();
  terminal.line(body.length <= bodyMax ? body : `${body.slice(0, bodyMax)}… (use --json to see everything)`);
}

function heading(terminal: Terminal, title: string, ...lines: readonly string[]): void {
  terminal.line();
  terminal.line(terminal.paint('bold', title));
  for (const line of lines) terminal.line(line);
}

function nextStep(delivery: DeliveryDetail): string | undefined {
  const { id, status, final, event_id, webhook_id } = delivery;
  if (status === 'success') return `posthorn events get ${event_id}`;
  if (isHeld(delivery)) return `posthorn webhooks get ${webhook_id}`;
  return final
    ? `posthorn deliveries redeliver ${id}`
    : `posthorn deliveries redeliver ${id}  (attempts it now)`;
}

/**
 * The states that `--status` accepts, with the parameters that select them. Both `retrying` and `given_up` are
 * `failed`; the API tells them apart by `final`.
 */
export const deliveryStates = {
  success: { status: 'success' },
  failed: { status: 'failed' },
  retrying: { status: 'failed', final: 'false' },
  given_up: { status: 'failed', final: 'true' },
} as const;

/** Returns the state of a delivery as every command prints it. */
export function stateOf({ status, final }: Pick<Delivery, 'status' | 'final'>) {
  if (status !== 'failed') return status;
  return final ? 'given_up' : 'retrying';
}

/** Returns whether a delivery waits until its webhook is active: it has not ended, but has no next attempt. */
export function isHeld(delivery: Pick<Delivery, 'final' | 'next_attempt_at'>): boolean {
  return !delivery.final && delivery.next_attempt_at === null;
}
