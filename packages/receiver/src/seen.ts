/**
 * Remembers which events were handled, so that an event that arrives twice is handled once. Keep it where the
 * handlers keep their work: in the same database transaction, nothing is lost and nothing is done twice.
 */
export interface Seen<Context = undefined> {
  /**
   * Runs `work` unless the event with this id was handled before. Returns true if it ran, and false if the event
   * is a duplicate. If `work` rejects, this rejects, too, and the event does not count as handled. The handler
   * gets the context as its second argument: for example, the client of a transaction.
   */
  once(id: string, work: (context: Context) => Promise<void>): Promise<boolean>;
}

/**
 * Remembers the latest `max` events in the memory of this process. A second process, or the same one after a
 * restart, knows nothing of them.
 */
export function memorySeen(max = 10_000): Seen {
  const handled = new Set<string>();
  const underWay = new Map<string, Promise<void>>();
  return {
    async once(id, work) {
      // A duplicate that arrives meanwhile shares the outcome: it must not report success for work that fails.
      const first = underWay.get(id);
      if (first) await first;
      if (handled.has(id)) return false;
      const current = work(undefined);
      underWay.set(id, current);
      try {
        await current;
      } finally {
        underWay.delete(id);
      }
      handled.add(id);
      if (handled.size > max) handled.delete(handled.values().next().value ?? '');
      return true;
    },
  };
}
