import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useFieldValue } from '../address/field-value';
import { rangeChoices } from '../address/range';
import { type Search, useSetSearch } from '../address/search';
import { useAction, useRequestKey } from '../api/action';
import { posthorn } from '../api/client';
import { webhookName } from '../api/webhook-name';
import { replayQuery, webhookQuery } from '../api/webhooks';
import { useZone } from '../browser/preferences';
import { Button, Segmented } from '../parts/button';
import { Confirm, useConfirm } from '../parts/confirm';
import { Check, Form } from '../parts/form';
import { Breadcrumb } from '../parts/head';
import { WebhookLink } from '../parts/links';
import { Note } from '../parts/note';
import { Loaded } from '../parts/states';
import { TimeField } from '../parts/time-field';
import { formatCount, formatExact } from '../text/format';
import { plural, rich, t } from '../text/language';
import { TimeAgo } from '../text/time';
import { type ReplayPreview, replayPreviewQuery } from './replay-preview';

/** Sends a range of past events again. The URL contains the range and the running replay. */
export function ReplayView() {
  const { webhookId } = useParams({ from: '/webhooks/$webhookId/replay' });
  const { replay } = useSearch({ from: '/webhooks/$webhookId/replay' });
  const webhook = useQuery(webhookQuery(webhookId));
  return (
    <Loaded query={webhook}>
      {(data) => (
        <>
          <Breadcrumb>
            <Link to="/webhooks">{t`Webhooks`}</Link>
            <WebhookLink id={webhookId}>{webhookName(data)}</WebhookLink>
          </Breadcrumb>
          <h1>{t`Replay events`}</h1>
          <p className="lead">{t`Resends past events of the types that the webhook subscribes to, oldest first, with the same event IDs.`}</p>
          {replay ? <ReplayProgress webhook={data} replayId={replay} /> : <RangeForm webhook={data} />}
        </>
      )}
    </Loaded>
  );
}

const lastChoices = rangeChoices.map(({ key, label, ms }) => ({ key, label: t`Last ${label}`, ms }));

function lastRange(length: (typeof rangeChoices)[number]['key']): { from: string; to: string } {
  const toMs = Date.now();
  const ms = rangeChoices.find(({ key }) => key === length)?.ms ?? 0;
  return { from: new Date(toMs - ms).toISOString(), to: new Date(toMs).toISOString() };
}

function RangeForm({ webhook }: { webhook: Webhook }) {
  const search = useSearch({ from: '/webhooks/$webhookId/replay' });
  const navigate = useNavigate({ from: '/webhooks/$webhookId/replay' });
  const shownZone = useZone();
  const [openedMs] = useState(() => Date.now());
  const keyOf = useRequestKey();
  const from = search.from ?? new Date(openedMs - 3_600_000).toISOString();
  const to = search.to ?? new Date(openedMs).toISOString();
  const onlyFailed = search.only_failed !== '0';
  const isBackward = Date.parse(from) > Date.parse(to);
  const preview = useQuery({
    ...replayPreviewQuery(webhook, { from, to }, onlyFailed),
    enabled: !isBackward,
  });
  const start = useAction({
    mutationFn: () => {
      const body = { from, to, only_failed: onlyFailed };
      return posthorn.webhooks.replay(webhook.id, body, { idempotencyKey: keyOf(body) });
    },
  });
  const confirm = useConfirm(start);
  const set = useSetSearch({ replace: true });
  const onlyFailedField = useFieldValue(onlyFailed, (isOn) => set({ only_failed: isOn ? undefined : '0' }));
  return (
    <Form className="form replay" onSubmit={confirm.ask}>
      <div className="filters">
        <Segmented
          label={t`Length of the time range`}
          choices={lastChoices}
          value={lastChoices.find(({ ms }) => ms === Date.parse(to) - Date.parse(from))?.key}
          onChange={(length) => set(lastRange(length))}
        />
      </div>
      <div className="two">
        <TimeField label={t`From`} value={from} onChange={(value) => set({ from: value })} />
        <TimeField label={t`To`} value={to} onChange={(value) => set({ to: value })} />
      </div>
      {isBackward ? (
        <p className="bad-text small" role="alert">{t`The time range must start before it ends.`}</p>
      ) : (
        <p className="soft small">
          {t`${formatExact(Date.parse(from), shownZone)} to ${formatExact(Date.parse(to), shownZone)}`}
        </p>
      )}
      <Check checked={onlyFailedField.value} onChange={onlyFailedField.change}>
        {t`Only events that were not delivered`}
        <span className="hint">{t`These are events whose latest delivery to this webhook failed, and events without a delivery to it, such as those recorded before the webhook existed. A delivery that is waiting for a retry is attempted now, in addition to its scheduled attempts.`}</span>
      </Check>
      {!isBackward && (
        <Loaded query={preview} lines={2}>
          {(data) => <Preview preview={data} />}
        </Loaded>
      )}
      <div className="actions">
        <Button
          type="submit"
          kind="primary"
          // The preview of another range says nothing about this one.
          disabled={
            isBackward ||
            !preview.data ||
            preview.isPlaceholderData ||
            isNothing(preview.data) ||
            webhook.status !== 'active'
          }
        >{t`Replay…`}</Button>
        {webhook.status !== 'active' && <span className="soft">{t`The webhook must be active first.`}</span>}
      </div>
      <Confirm
        {...confirm.dialog}
        title={t`Replay to ${webhookName(webhook)}?`}
        action={start.isPending ? t`Starting…` : t`Replay`}
        onConfirm={() =>
          start.mutate(undefined, {
            onSuccess: ({ id }) => void navigate({ search: (now: Search) => ({ ...now, replay: id }) }),
          })
        }
      >
        {preview.data && <p>{sentenceOf(preview.data)}</p>}
        <p>{rich`Events go to ${<code>{webhook.url}</code>}. A receiver that does not check for duplicate event IDs may handle an event twice.`}</p>
        {onlyFailed && (
          <p>{t`A delivery that is waiting for a retry is attempted now, in addition to its scheduled attempts.`}</p>
        )}
      </Confirm>
    </Form>
  );
}

/** Returns whether it is certain that a replay has nothing to send. */
const isNothing = ({ count, certainty }: ReplayPreview) =>
  count === 0 && (certainty === 'exact' || certainty === 'up_to');

function sentenceOf({ count, unlisted, certainty }: ReplayPreview): string {
  const all = count + unlisted;
  if (certainty === 'exact') return plural(all, '{0} event will be sent.', '{0} events will be sent.');
  if (certainty === 'up_to')
    return plural(all, 'Up to {0} event will be sent.', 'Up to {0} events will be sent.');
  if (certainty === 'about' && unlisted === 0)
    return plural(all, 'About {0} event will be sent.', 'About {0} events will be sent.');
  if (certainty === 'about' && count > 0) return t`About ${count} to ${all} events will be sent.`;
  return plural(all, 'Up to about {0} event will be sent.', 'Up to about {0} events will be sent.');
}

const skipped = t`The replay skips events that have been delivered or are waiting for their first attempt.`;

const certaintyNotes = {
  exact: undefined,
  up_to: skipped,
  about: t`This is an estimate based on the statistics, which include new events within a minute.`,
  up_to_about: t`This is an estimate: the events in the statistics, less the deliveries that succeeded. ${skipped}`,
};

function Preview({ preview }: { preview: ReplayPreview }) {
  const { unlisted } = preview;
  const note = certaintyNotes[preview.certainty];
  return (
    <Note kind="calm" title={sentenceOf(preview)}>
      {note && <p>{note}</p>}
      {unlisted > 0 && (
        <p>
          {t`The statistics list only the most frequent event types.`}{' '}
          {plural(
            unlisted,
            '{0} event has another type and may go to this webhook, too.',
            '{0} events have other types and may go to this webhook, too.',
          )}
        </p>
      )}
      {preview.byType.length > 0 && (
        <p className="mono">
          {preview.byType.map(({ type, count }) => `${type}\u00a0${formatCount(count)}`).join('\u00a0· ')}
        </p>
      )}
    </Note>
  );
}

/** The progress of a replay. The URL contains the ID of the replay, so a reload shows the same page. */
function ReplayProgress({ webhook, replayId }: { webhook: Webhook; replayId: string }) {
  const replay = useQuery(replayQuery(webhook.id, replayId));
  return (
    <Loaded query={replay} lines={3}>
      {({ status, total, done, created_at }) => (
        <section className="form section">
          <Note
            kind={({ running: 'calm', done: 'ok', cancelled: '' } as const)[status]}
            role="status"
            title={
              {
                running: t`${done} of ${total} events are queued.`,
                done: plural(done, 'Done: {0} event is queued.', 'Done: {0} events are queued.'),
                cancelled: t`Canceled after ${done} of ${total}: the webhook is not active.`,
              }[status]
            }
          >
            <p>
              {rich`Started ${<TimeAgo at={created_at} />}.`}{' '}
              {status === 'running' &&
                t`You can leave this page. The replay continues, and you can return to this URL to see its progress.`}
            </p>
          </Note>
          <div
            className="progress"
            role="progressbar"
            aria-label={t`Replay`}
            aria-valuemin={0}
            aria-valuemax={total}
            aria-valuenow={done}
          >
            <i style={{ width: `${total === 0 ? 100 : (done / total) * 100}%` }} />
          </div>
          <div className="actions">
            <WebhookLink id={webhook.id} className="btn">{t`See the deliveries`}</WebhookLink>
            <Link
              to="/webhooks/$webhookId/replay"
              params={{ webhookId: webhook.id }}
              search={{}}
              className="btn"
            >{t`Another replay`}</Link>
          </div>
        </section>
      )}
    </Loaded>
  );
}
