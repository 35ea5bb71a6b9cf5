import { useCallback, useEffect, useRef, useState } from 'react';
import { posthorn } from '../api/client';
import { connection } from '../api/connection';
import type { EventFilter, EventPage } from '../api/events';
import { problemIn } from '../api/problem';
import { useStore } from '../browser/store';
import { neededRuns, type TailRun, withEvent, withRun } from './live-rows';

const freshMs = 2_000;
const none: readonly TailRun[] = [];

/**
 * Follows the stream while `isOn`: what was received with this filter, each time live mode was on, and which of it is
 * fresh. The error says why the service refuses the tail, which connects again after the time that the service asks for.
 */
export function useTail(organizationId: string, filter: EventFilter, isOn: boolean) {
  const [isConnected, setConnected] = useState(false);
  const [error, setError] = useState<Error>();
  const [starts, setStarts] = useState(0);
  const [received, setReceived] = useState<{ key: string; runs: readonly TailRun[] }>();
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const lastEventId = useRef<string | undefined>(undefined);
  const isUnreachable = useStore(connection).kind === 'unreachable';
  const key = JSON.stringify([organizationId, filter]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter, or the switch, starts a new run.
  useEffect(() => {
    lastEventId.current = undefined;
    setError(undefined);
  }, [key, isOn]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another start is another tail
  useEffect(() => {
    // While the service is unreachable, `connection` polls until it responds. The tail then continues where
    // it stopped.
    if (!isOn || isUnreachable) return;
    const closed = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    let restart: ReturnType<typeof setTimeout>;
    const update = (change: (runs: readonly TailRun[]) => readonly TailRun[]) =>
      setReceived((now) => ({ key, runs: change(now?.key === key ? now.runs : none) }));
    const [organization_id, { from: _from, to: _to, ...tailFilter }] = JSON.parse(key);
    const tail = posthorn.events.tail(
      { organization_id, ...tailFilter },
      {
        signal: closed.signal,
        lastEventId: lastEventId.current,
        onConnect: () => {
          if (closed.signal.aborted) return;
          const nowMs = performance.now();
          if (lastEventId.current === undefined) update((runs) => withRun(runs, nowMs));
          lastEventId.current = tail.lastEventId;
          setConnected(true);
          setError(undefined);
        },
        onDisconnect: (failure) => {
          setConnected(false);
          setError(problemIn(failure));
        },
      },
    );
    async function follow(): Promise<void> {
      for await (const event of tail) {
        if (closed.signal.aborted) return;
        lastEventId.current = tail.lastEventId;
        update((runs) => withEvent(runs, event));
        setFresh((now) => new Set([...now, event.id]));
        clearTimeout(timer);
        timer = setTimeout(() => setFresh(new Set()), freshMs);
      }
    }
    // The tail ends when it is closed, when the service refuses it, or when it has failed too often to connect.
    follow().catch((failure) => {
      if (closed.signal.aborted) return;
      setConnected(false);
      setError(failure);
      const waitMs = problemIn(failure)?.retryAfterMs;
      if (waitMs) restart = setTimeout(() => setStarts((now) => now + 1), waitMs);
    });
    return () => {
      clearTimeout(timer);
      clearTimeout(restart);
      closed.abort();
      setConnected(false);
    };
  }, [key, isOn, isUnreachable, starts]);
  const forget = useCallback(
    (pages: readonly EventPage[]) =>
      setReceived((now) => {
        if (now?.key !== key) return now;
        const runs = neededRuns(now.runs, pages);
        return runs === now.runs ? now : { key, runs };
      }),
    [key],
  );
  const retry = useCallback(() => {
    setError(undefined);
    setStarts((now) => now + 1);
  }, []);
  return { isConnected, error, retry, runs: received?.key === key ? received.runs : none, fresh, forget };
}
