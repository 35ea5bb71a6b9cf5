import { useZone } from '../browser/preferences';
import { useNow } from './clock';
import { formatClock, formatDuration, formatExact, formatRelative, formatSecond } from './format';
import { t } from './language';
import { splitAtTimes } from './sentence-times';

/** A relative time, with the exact one on hover. */
export function TimeAgo({ at }: { at: string }) {
  const atMs = Date.parse(at);
  const now = useNow(Math.abs(Date.now() - atMs) < 90_000 ? 1_000 : 15_000);
  return (
    <time className="nowrap" dateTime={at} title={formatExact(atMs, useZone())}>
      {formatRelative(atMs, Math.max(now, atMs > Date.now() ? 0 : atMs))}
    </time>
  );
}

/** A time of day, with the exact and the relative one on hover. */
export function ClockTime({ at }: { at: string }) {
  const atMs = Date.parse(at);
  const now = useNow(60_000);
  const shownZone = useZone();
  return (
    <time dateTime={at} title={`${formatExact(atMs, shownZone)} (${formatRelative(atMs, now)})`}>
      {formatClock(atMs, shownZone, now)}
    </time>
  );
}

/** A time of day, and how long ago that was. */
export function ExactTime({ at }: { at: string }) {
  const atMs = Date.parse(at);
  const shownZone = useZone();
  return (
    <>
      <time dateTime={at}>{formatExact(atMs, shownZone)}</time>{' '}
      <span className="soft nowrap">
        (<TimeAgo at={at} />)
      </span>
    </>
  );
}

/** A countdown to a time. Then the time itself, because the page may not have been updated since. */
export function Countdown({ to }: { to: string }) {
  const atMs = Date.parse(to);
  const now = useNow();
  const shownZone = useZone();
  return (
    <time className="nowrap" dateTime={to} title={formatExact(atMs, shownZone)}>
      {now < atMs
        ? t`in ${formatDuration(Math.max(1_000, atMs - now))}`
        : t`due ${formatClock(atMs, shownZone, now)}`}
    </time>
  );
}

/** A sentence of the API about a failed attempt, with its times in the zone of the page, and in UTC on hover. */
export function WithTimes({ text }: { text: string }) {
  const shownZone = useZone();
  return (
    <>
      {splitAtTimes(text).map((part, index) =>
        typeof part === 'string' ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places
          <time key={index} dateTime={part.at} title={part.text}>
            {formatSecond(Date.parse(part.at), shownZone)}
          </time>
        ),
      )}
    </>
  );
}
