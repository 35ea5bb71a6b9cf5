import type { Event, TailEventsQuery } from '@posthorn/client';
import { useEffect, useRef, useState } from 'react';
import { posthorn } from '../../api/client';
import { connection } from '../../connection';
import { useStore } from '../../store';

const keptMax = 500;
const freshMs = 2_000;

export interface TailView {
  isConnected: boolean;
  /** What has come since the tail was opened, newest first. */
  events: Event[];
  /** The IDs of what has just come. */
  fresh: ReadonlySet<string>;
}

/**
 * Follows the stream while `isOn`. New rows go on top without moving what is read: if the page is scrolled down, the
 * browser keeps its place by scroll anchoring.
 */
export function useTail(query: TailEventsQuery, isOn: boolean): TailView {
  const [isConnected, setConnected] = useState(false);
  const [events, setEvents] = useState<Event[]>([]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const lastEventId = useRef<string | undefined>(undefined);
  const isAway = useStore(connection).kind === 'away';
  const key = JSON.stringify(query);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query, or the switch, starts a new list.
  useEffect(() => {
    lastEventId.current = undefined;
    setEvents([]);
  }, [key, isOn]);
  useEffect(() => {
    // While the service is away, `connection` waits for its return. The tail then continues where it was.
    if (!isOn || isAway) return;
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
    // It ends when it is closed, or when the service refuses it: then the list beside it says why.
    follow().catch(() => setConnected(false));
    return () => {
      clearTimeout(timer);
      closed.abort();
    };
  }, [key, isOn, isAway]);
  return { isConnected, events, fresh };
}
