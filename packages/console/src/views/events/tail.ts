import { useEffect, useState } from 'react';
import { followEvents, type TailState } from '../../api/tail';
import type { StreamEvent } from '../../api/types';

const keptMax = 500;
const freshMs = 2_000;

export interface TailView {
  state: TailState;
  /** What has come since the tail was opened, newest first. */
  events: StreamEvent[];
  /** The IDs of what has just come. */
  fresh: ReadonlySet<string>;
}

/**
 * Follows the stream while `isOn`. New rows go on top without moving what is read: if the page is scrolled down, the
 * browser keeps its place by scroll anchoring.
 */
export function useTail(filter: Record<string, string | undefined>, isOn: boolean): TailView {
  const [state, setState] = useState<TailState>('connecting');
  const [events, setEvents] = useState<StreamEvent[]>([]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const key = JSON.stringify(filter);
  useEffect(() => {
    setEvents([]);
    if (!isOn) return;
    let timer: ReturnType<typeof setTimeout>;
    const tail = followEvents(
      JSON.parse(key),
      (arrived) => {
        setEvents((now) => [...arrived.toReversed(), ...now].slice(0, keptMax));
        setFresh(new Set(arrived.map(({ id }) => id)));
        clearTimeout(timer);
        timer = setTimeout(() => setFresh(new Set()), freshMs);
      },
      setState,
    );
    return () => {
      clearTimeout(timer);
      tail.close();
    };
  }, [key, isOn]);
  return { state, events, fresh };
}
