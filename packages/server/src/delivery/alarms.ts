/** Rings at given times, once for all that asked for about the same one. */
export class Alarms {
  readonly #onRing: (webhooks: readonly string[]) => void;
  /** The webhooks each one is about; one that is about none is about whatever there is. */
  readonly #set = new Map<number, { timer: NodeJS.Timeout; webhooks: Set<string>; isAboutAny: boolean }>();

  #stopped = false;

  constructor(onRing: (webhooks: readonly string[]) => void) {
    this.#onRing = onRing;
  }

  /** Rings then, or later by less than `stepMs`. Each step is a multiple of the one before, so that they coincide. */
  setFor(atMs: number, stepMs: number, webhookId?: string): void {
    if (this.#stopped) return;
    const ringMs = Math.ceil(atMs / stepMs) * stepMs;
    const alarm = this.#set.get(ringMs) ?? {
      timer: setTimeout(() => this.#ring(ringMs), ringMs - Date.now()),
      webhooks: new Set(),
      isAboutAny: false,
    };
    this.#set.set(ringMs, alarm);
    if (webhookId === undefined) alarm.isAboutAny = true;
    else alarm.webhooks.add(webhookId);
  }

  #ring(ringMs: number): void {
    const alarm = this.#set.get(ringMs);
    this.#set.delete(ringMs);
    if (alarm) this.#onRing(alarm.isAboutAny ? [] : [...alarm.webhooks]);
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#set.values()) clearTimeout(timer);
    this.#set.clear();
  }
}
