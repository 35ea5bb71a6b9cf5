import type { Attempt, DeliveryDetail, Webhook } from '@posthorn/client';
import { axisOf } from '../charts/wait-axis';
import { formatDuration, formatMs } from '../text/format';
import { rich, t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { ClockTime, Countdown, WithTimes } from '../text/time';
import { useWaitsMs } from '../webhook-form/waits';
import { excerptOf } from './excerpt';

const isGood = ({ http_status }: Attempt) => http_status !== null && http_status >= 200 && http_status < 300;

/**
 * Every attempt at its time since the delivery was created, and hollow those that may follow. Clicking an attempt shows
 * its request and its response.
 */
export function AttemptStrip({
  delivery,
  webhook,
  chosen,
  onChoose,
}: {
  delivery: DeliveryDetail;
  webhook: Webhook | undefined;
  chosen: Attempt | undefined;
  onChoose: (attempt: number) => void;
}) {
  const waitsMs = useWaitsMs(webhook?.retry_schedule);
  const { attempt_log: attempts, next_attempt_at: next } = delivery;
  const startMs = Date.parse(delivery.created_at);
  const sinceMs = attempts.map(({ attempted_at: at }) => Date.parse(at) - startMs);
  if (!delivery.final) {
    sinceMs.push(
      next ? Date.parse(next) - startMs : (sinceMs.at(-1) ?? 0) + (waitsMs[attempts.length - 1] ?? 0),
    );
    // Without a time for the next attempt, those after it have none either.
    if (next) for (const ms of waitsMs.slice(sinceMs.length - 1)) sinceMs.push(sinceMs.at(-1)! + ms);
  }
  const places = axisOf(sinceMs);
  const latest = attempts.at(-1);
  return (
    <section className="section">
      <h2>{t`Attempts`}</h2>
      <ol className="tape">
        {places.map((place, index) => {
          const attempt = attempts[index];
          const wait = sinceMs[index]! - (sinceMs[index - 1] ?? 0);
          const name = (
            <>
              <span className="hidden-visually">{t`Attempt`} </span>
              {index + 1}
            </>
          );
          return (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: attempts are numbered
              key={index}
              style={{ left: `${place * 100}%` }}
              className={attempt ? (isGood(attempt) ? 'ok' : 'bad') : 'open'}
            >
              {index > 0 && wait >= 1_000 && (
                <span className="gap" style={{ right: 'calc(100% + 2px)' }}>
                  {formatDuration(Math.round(wait / 1_000) * 1_000)
                    .split(' ')
                    .slice(0, 2)
                    .join(' ')}
                </span>
              )}
              {attempt ? (
                <button
                  type="button"
                  aria-pressed={attempt === chosen}
                  onClick={() => onChoose(attempt.attempt)}
                  title={outcomeOf(attempt)}
                >
                  <i />
                  {name} <b>{attempt.http_status ?? (attempt.error === 'timeout' ? t`timeout` : '–')}</b>
                </button>
              ) : (
                <span className="mark">
                  <i />
                  {name}
                </span>
              )}
            </li>
          );
        })}
      </ol>
      <div className="line">
        {chosen && (
          <>
            <b>{t`Attempt ${chosen.attempt}`}</b>
            <span>{outcomeOf(chosen)}</span>
            <span className="soft">
              <ClockTime at={chosen.attempted_at} />
              {chosen.duration_ms !== null && ` · ${formatMs(chosen.duration_ms)}`}
            </span>
            {chosen.response && <span className="mono cut soft">{excerptOf(chosen.response)}</span>}
          </>
        )}
        <span className="grow" />
        {!delivery.final && (
          <span className="soft">
            {rich`Attempt ${attempts.length + 1}: ${<span>{next ? <Countdown to={next} /> : t`when the webhook is active`}</span>}`}
          </span>
        )}
      </div>
      {/* The diagnosis at the top of the page explains the latest attempt, and those that ended the same way. */}
      {chosen?.error_detail && chosen.error_detail !== latest?.error_detail && (
        <p className="soft small">
          <WithTimes text={chosen.error_detail} />
        </p>
      )}
      {delivery.error === 'disabled' && (
        <p className="soft small">
          {attempts.length > 0
            ? t`The webhook was disabled, so there will be no further attempts.`
            : t`The webhook was disabled, so no attempts will be made.`}
        </p>
      )}
    </section>
  );
}
