/**
 * Browser storage. The browser can refuse access to it, for example in a frame. In that case, values are kept
 * in memory until the page is closed.
 */
class BrowserStorage {
  readonly #storage: () => Storage;
  readonly #lost = new Map<string, string>();

  constructor(storage: () => Storage) {
    this.#storage = storage;
  }

  get(name: string): string | null {
    try {
      return this.#storage().getItem(name);
    } catch {
      return this.#lost.get(name) ?? null;
    }
  }

  set(name: string, value: string): void {
    try {
      this.#storage().setItem(name, value);
    } catch {
      this.#lost.set(name, value);
    }
  }

  remove(name: string): void {
    this.#lost.delete(name);
    try {
      this.#storage().removeItem(name);
    } catch {
      // It was never stored.
    }
  }
}

/** Lasts as long as the tab. */
export const tabStorage = new BrowserStorage(() => sessionStorage);

/** Lasts until the user clears it. */
export const lastingStorage = new BrowserStorage(() => localStorage);
