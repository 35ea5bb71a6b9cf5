import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Children, type ReactNode } from 'react';
import { useLive } from '../address/live';
import { deliveryPageQuery, lastSuccessQuery } from '../api/deliveries';
import { useZone } from '../browser/preferences';
import { useIsPast, useNow } from '../text/clock';
import { formatDay, formatDuration, formatPage } from '../text/format';
import { rich, t } from '../text/language';
import { ClockTime, Countdown } from '../text/time';

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
  const now = useNow(60_000);
  // The five days begin with the first failure after the latest success.
  const sinceMs = Date.parse(success?.at ?? '');
  const disabledMs = sinceMs + failingDaysMax * dayMs;
  const disabledOn = formatDay(disabledMs || 0, useZone());
  // Earlier, there is no need to worry about that.
  const isLong = useIsPast(sinceMs + dayMs);
  const isOver = useIsPast(disabledMs);
  // Reserves the line.
  if (!success || !waiting) return '\u00a0';
  const count = waiting.data.length;
  const nextAt = waiting.data
    .flatMap(({ next_attempt_at: at }) => at ?? [])
    .toSorted()
    .at(0);
  return (
    <Dotted>
      {success.at && (
        <>
          {rich`Nothing has arrived since ${<ClockTime at={success.at} />}`} (
          <span className="nowrap">{formatDuration(Math.max(60_000, now - sinceMs))}</span>)
        </>
      )}
      {success.isNone && t`Nothing has arrived so far`}
      {count > 0 && t`${formatPage(waiting)} waiting`}
      {nextAt && <span>{rich`next ${<Countdown to={nextAt} />}`}</span>}
      {isLong && !isOver && t`will be disabled about ${disabledOn}`}
    </Dotted>
  );
}

/** Facts on one line, with a dot between them. A fact of several parts stands in one element. */
export function Dotted({ children }: { children: ReactNode }) {
  return Children.toArray(children).map((fact, index) => [index > 0 && ' · ', fact]);
}
