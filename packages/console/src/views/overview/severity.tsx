import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../address/live';
import { deliveryPageQuery, lastSuccessQuery } from '../../api/deliveries';
import { zone } from '../../browser/preferences';
import { useStore } from '../../browser/store';
import { useIsPast, useNow } from '../../text/clock';
import { formatDay, formatDuration, plural } from '../../text/format';
import { ClockTime } from '../../text/time';

/** At most one page: enough to say "100+" without counting. */
const countedMax = 100;
const dayMs = 86_400_000;
const failingDaysMax = 5;

/** How bad it is that a webhook fails: since when, how many deliveries wait, and when the service will disable it. */
export function Severity({ webhook }: { webhook: Webhook }) {
  const { refetchInterval } = useLive();
  const { data: success } = useQuery({ ...lastSuccessQuery(webhook.id), refetchInterval });
  const { data: waiting } = useQuery({
    ...deliveryPageQuery({ webhook_id: webhook.id, state: 'retrying' }, countedMax),
    refetchInterval,
  });
  // Reserves the line.
  if (!success || !waiting) return '\u00a0';
  const count = waiting.data.length;
  return (
    <>
      {success.at && <Since at={success.at} />}
      {success.isNone && 'No delivery has arrived so far. '}
      {waiting.hasMore
        ? `${count}+ deliveries wait. `
        : count > 0 && `${plural(count, 'delivery waits', 'deliveries wait')}. `}
      {success.at && <Disabling sinceMs={Date.parse(success.at)} />}
    </>
  );
}

function Since({ at }: { at: string }) {
  const now = useNow(60_000);
  return (
    <>
      Nothing has arrived since <ClockTime at={at} /> (
      <span className="nowrap">{formatDuration(Math.max(60_000, now - Date.parse(at)))}</span>).{' '}
    </>
  );
}

/** Says when the service disables the webhook, unless it is too early to worry about that. */
function Disabling({ sinceMs }: { sinceMs: number }) {
  const atMs = sinceMs + failingDaysMax * dayMs;
  const day = formatDay(atMs, useStore(zone));
  const isEarly = !useIsPast(sinceMs + dayMs);
  if (useIsPast(atMs) || isEarly) return null;
  // The five days begin with the first failure after the latest success.
  return `If this goes on, the webhook will be disabled about ${day}.`;
}
