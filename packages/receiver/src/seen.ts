/**
 * Remembers which events were handled, so that an event that arrives twice is handled once. If it uses the same
 * database transaction as the handlers, no event is lost or handled twice.
 */
export interface Seen<Context = undefined> {
  /**
   * Runs `work` unless the event with this ID was already handled. Returns true if it ran, and false if the event is a
   * duplicate. If `work` rejects, this also rejects, and the event does not count as handled. The handler gets the
   * context as its second argument: for example, a transaction's client.
   */
  once(id: string, work: (context: Context) => Promise<void>): Promise<boolean>;
}

/**
 * Remembers the latest `max` events in the memory of this process. The state is lost on a restart and not shared
 * between processes.
 */
export function memorySeen(max = 10_000): Seen {
  const handled = new Set<string>();
  const inProgress = new Map<string, Promise<void>>();
  return {
    async once(id, work) {
      // A duplicate that arrives in the meantime shares the outcome, so that it does not report success for work that
      // fails.
      const first = inProgress.get(id);
      if (first) await first;
      if (handled.has(id)) return false;
      const current = work(undefined);
      inProgress.set(id, current);
      try {
        await current;
      } finally {
        inProgress.delete(id);
      }
      handled.add(id);
      if (handled.size > max) handled.delete(handled.values().next().value ?? '');
      return true;
    },
  };
}
