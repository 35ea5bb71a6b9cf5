/** Rung for somebody in this process; whoever listens for them looks sooner than its next turn. */
export class Bell {
  readonly #listening = new Map<string, Set<Ear>>();

  ring(whom: Iterable<string>): void {
    for (const one of whom) for (const ear of this.#listening.get(one) ?? []) ear.hear();
  }

  /** From now on; close it in the end. */
  listenFor(whom: string): Ear {
    const ears = this.#listening.get(whom) ?? new Set();
    const ear = new Ear(() => {
      ears.delete(ear);
      if (ears.size === 0) this.#listening.delete(whom);
    });
    this.#listening.set(whom, ears.add(ear));
    return ear;
  }
}

export class Ear {
  readonly close: () => void;
  #heard = false;
  #wake: () => void = () => undefined;

  constructor(close: () => void) {
    this.close = close;
  }

  hear(): void {
    this.#heard = true;
    this.#wake();
  }

  /** Resolves when it rang since the last call, when `ms` have passed, or when aborted, whichever is first. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#heard && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => this.#wake(), ms);
        this.#wake = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', this.#wake);
          this.#wake = () => undefined;
          resolve();
        };
        signal.addEventListener('abort', this.#wake);
      });
    }
    this.#heard = false;
  }
}
