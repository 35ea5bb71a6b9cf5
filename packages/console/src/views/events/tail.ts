import type { Event, TailEventsQuery } from '@posthorn/client';
import { useEffect, useRef, useState } from 'react';
import { posthorn } from '../../api/client';
import { connection } from '../../connection';
import { useStore } from '../../store';

const keptMax = 500;
const freshMs = 2_000;

export interface TailView {
  isConnected: boolean;
  /** The events since the tail was opened, newest first. */
  events: Event[];
  /** The IDs of the events that have just arrived. */
  fresh: ReadonlySet<string>;
}

/**
 * Follows the stream while `isOn`. New rows are added at the top. If the page is scrolled down, the
 * browser's scroll anchoring keeps the visible rows in place.
 */
export function useTail(query: TailEventsQuery, isOn: boolean): TailView {
  const [isConnected, setConnected] = useState(false);
  const [events, setEvents] = useState<Event[]>([]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const lastEventId = useRef<string | undefined>(undefined);
  const isUnreachable = useStore(connection).kind === 'unreachable';
  const key = JSON.stringify(query);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query, or the switch, starts a new list.
  useEffect(() => {
    lastEventId.current = undefined;
    setEvents([]);
  }, [key, isOn]);
  useEffect(() => {
    // While the service is unreachable, `connection` polls until it responds. The tail then continues where
    // it stopped.
    if (!isOn || isUnreachable) return;
    const closed = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const tail = posthorn.events.tail(JSON.parse(key), {
      signal: closed.signal,
      lastEventId: lastEventId.current,
      onConnect: () => {
        lastEventId.current = tail.lastEventId;
        setConnected(true);
      },
      onDisconnect: () => setConnected(false),
    });
    async function follow(): Promise<void> {
      for await (const event of tail) {
        lastEventId.current = tail.lastEventId;
        setEvents((now) => [event, ...now].slice(0, keptMax));
        setFresh((now) => new Set([...now, event.id]));
        clearTimeout(timer);
        timer = setTimeout(() => setFresh(new Set()), freshMs);
      }
    }
    // The tail ends when it is closed or when the service refuses it. In that case, the list shows the
    // reason.
    follow().catch(() => setConnected(false));
    return () => {
      clearTimeout(timer);
      closed.abort();
    };
  }, [key, isOn, isUnreachable]);
  return { isConnected, events, fresh };
}
