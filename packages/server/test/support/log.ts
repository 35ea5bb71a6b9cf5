// biome-ignore lint/suspicious/noExplicitAny: tests look into lines of every shape
type Line = Record<string, any>;

const warning = 40;

/** Keeps the log of a service, and can be waited for. */
export class Log {
  readonly lines: Line[] = [];
  #waiting: (() => void)[] = [];

  write(text: string): void {
    this.lines.push(JSON.parse(text));
    for (const heard of this.#waiting.splice(0)) heard();
  }

  /** The lines that say this, at least `count` of them, now or once they are written. */
  async until(message: string, count = 1): Promise<Line[]> {
    for (;;) {
      const found = this.lines.filter(({ msg }) => msg.startsWith(message));
      if (found.length >= count) return found;
      await new Promise<void>((heard) => {
        this.#waiting.push(heard);
      });
    }
  }

  /** What needs attention, as texts. */
  get warnings(): string[] {
    return this.lines.filter(({ level }) => level >= warning).map(({ msg }) => msg);
  }

  get text(): string {
    return JSON.stringify(this.lines);
  }
}
