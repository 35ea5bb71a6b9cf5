import type { Attempt, DeliveryDetail } from '@posthorn/client';
import { formatMs } from '../../text/format';
import { ClockTime, Countdown } from '../../text/time';
import { WithTimes } from '../../text/with-times';
import { outcomeOf } from './delivery-tag';
import { excerptOf } from './excerpt';

const isGood = ({ http_status }: Attempt) => http_status !== null && http_status >= 200 && http_status < 300;

/** Every attempt, latest first, with the next one, or why there is none, above. Clicking an attempt shows its response. */
export function AttemptTimeline({
  delivery,
  chosen,
  onChoose,
}: {
  delivery: DeliveryDetail;
  chosen: number | undefined;
  onChoose: (attempt: number) => void;
}) {
  const { attempt_log: attempts, next_attempt_at: next } = delivery;
  const latest = attempts.at(-1);
  return (
    <ol className="timeline">
      {!delivery.final && (
        <li className="next">
          <div className="line">
            <b>Attempt {attempts.length + 1}</b>
            <span className="tag mute">
              {next ? <Countdown to={next} /> : 'after the webhook is verified'}
            </span>
          </div>
        </li>
      )}
      {delivery.error === 'disabled' && (
        <li>
          <p className="small">
            The webhook was disabled, so{' '}
            {attempts.length > 0 ? 'there will be no further attempts.' : 'no attempts will be made.'}
          </p>
        </li>
      )}
      {attempts.toReversed().map((attempt) => (
        <li key={attempt.attempt} className={isGood(attempt) ? 'ok' : 'bad'}>
          <div className="line">
            <button
              type="button"
              className="pick"
              aria-pressed={attempt.attempt === chosen}
              onClick={() => onChoose(attempt.attempt)}
            >
              Attempt {attempt.attempt}
            </button>
            <span className={isGood(attempt) ? 'tag ok' : 'tag bad'}>{outcomeOf(attempt)}</span>
            <span className="soft small">
              <ClockTime at={attempt.attempted_at} />
              {attempt.duration_ms !== null && ` · ${formatMs(attempt.duration_ms)}`}
            </span>
          </div>
          {/* The diagnosis at the top of the page explains the latest attempt, and those that ended the same way. */}
          {attempt.error_detail && attempt.error_detail !== latest?.error_detail && (
            <p className="small">
              <WithTimes text={attempt.error_detail} />
            </p>
          )}
          {attempt.response && <p className="mono cut">{excerptOf(attempt.response)}</p>}
        </li>
      ))}
    </ol>
  );
}
