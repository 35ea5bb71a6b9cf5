import type { PreviewedEvent } from '@posthorn/client';
import { type ReactNode, useState } from 'react';
import { isUnreachable } from '../api/problem';
import { Segmented } from '../parts/button';
import { ProblemNote, Skeleton } from '../parts/states';
import { formatCount } from '../text/format';
import { rich, t } from '../text/language';
import { ClockTime } from '../text/time';
import type { Preview } from './preview';

const shownMax = 6;

/** How many of the events of the last day would have been sent, the newest of them, and the one that was chosen. */
export function PreviewResults({
  all,
  sent,
  isFiltered,
  isFaulty,
  children,
}: {
  /** What a webhook without a filter would have got. */
  all: Preview;
  sent: Preview;
  isFiltered: boolean;
  /** Whether the filter cannot be applied. */
  isFaulty: boolean;
  children: (event: PreviewedEvent | undefined) => ReactNode;
}) {
  const [list, setList] = useState<'sent' | 'all'>('sent');
  const [chosen, setChosen] = useState<string>();
  const isAll = list === 'all' || !isFiltered || isFaulty;
  const events = ((isAll ? all : sent).data?.events ?? []).slice(0, shownMax);
  const event =
    [...events, ...(all.data?.events ?? [])].find(({ id }) => id === chosen) ??
    events[0] ??
    all.data?.events[0];
  const passes = new Set(sent.data?.events.map(({ id }) => id));
  // A fault of the filter stands where it is edited.
  const error = all.error ?? (sent.problem?.status === 422 ? null : sent.error);
  if (error && !isUnreachable(error)) return <ProblemNote error={error} />;
  if (!all.data || !sent.data) return <Skeleton lines={8} />;
  const count = (
    <b className="preview-count">
      {isFiltered
        ? t`${formatCount(sent.data.matched)} of ${formatCount(all.data.matched)}`
        : formatCount(all.data.matched)}
    </b>
  );
  return (
    <section
      className={`stack preview ${sent.isOld ? 'dimmed' : ''}`}
      aria-label={t`Preview`}
      aria-busy={sent.isOld}
    >
      {isFaulty ? (
        <p className="soft">{t`Correct the filter to see what it would let through.`}</p>
      ) : (
        <p aria-live="polite">
          {all.data.matched === 1
            ? rich`${count} event of the last 24 h would have been sent.`
            : rich`${count} events of the last 24 h would have been sent.`}
          {!all.data.is_complete && (
            <span className="soft">
              {' '}
              {t`Only the newest ${formatCount(all.data.examined)} were examined.`}
            </span>
          )}
        </p>
      )}
      {isFiltered && !isFaulty && (
        <Segmented
          label={t`Which events`}
          choices={[
            { key: 'sent', label: t`Would be sent` },
            { key: 'all', label: t`All` },
          ]}
          value={list}
          onChange={setList}
        />
      )}
      {events.length === 0 ? (
        <p className="soft">
          {isAll
            ? t`No event of these types in the last 24 h.`
            : t`No event of the last 24 h matches all conditions.`}
        </p>
      ) : (
        <ul className="previewed">
          {events.map(({ id, type, subject, created_at }) => (
            <li key={id}>
              <button type="button" aria-pressed={id === event?.id} onClick={() => setChosen(id)}>
                <span className="soft">
                  <ClockTime at={created_at} />
                </span>
                <span className="mono cut">{type}</span>
                <span className="mono soft cut">{subject.id}</span>
                {isFiltered && isAll && !isFaulty && (
                  <span className={passes.has(id) ? 'tag ok quiet' : 'tag mute'}>
                    {passes.has(id) ? t`Sent` : t`Filtered out`}
                  </span>
                )}
              </button>
            </li>
          ))}
        </ul>
      )}
      {children(event)}
    </section>
  );
}
