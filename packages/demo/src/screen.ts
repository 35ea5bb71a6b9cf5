import type { Size } from './dashboard.js';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** Takes over the whole terminal while the demo runs, and restores it however the process ends. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #in: NodeJS.ReadStream;
  readonly #onKey: (key: string) => void;
  readonly #onResize: () => void;
  #isOpen = true;

  constructor(
    out: NodeJS.WriteStream,
    input: NodeJS.ReadStream,
    { onKey, onResize }: { onKey: (key: string) => void; onResize: () => void },
  ) {
    this.#out = out;
    this.#in = input;
    this.#onKey = (key) => onKey(key);
    this.#onResize = () => onResize();
    out.write(enter);
    out.on('resize', this.#onResize);
    process.once('exit', this.#restore);
    if (!input.isTTY) return;
    input.setEncoding('utf8');
    input.setRawMode(true);
    input.on('data', this.#onKey);
    input.resume();
  }

  get size(): Size {
    return { columns: this.#out.columns || 80, rows: this.#out.rows || 24 };
  }

  /** Shows the lines. Clears each before writing it: after a full line, the cursor is still on its last character. */
  show(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const below = lines.length < this.size.rows ? `\r\n${clearBelow}` : '';
    this.#out.write(home + lines.map((line) => clearLine + line).join('\r\n') + below);
  }

  close(): void {
    this.#out.off('resize', this.#onResize);
    this.#in.off('data', this.#onKey);
    process.off('exit', this.#restore);
    this.#restore();
    this.#in.pause();
  }

  readonly #restore = () => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#in.isTTY) this.#in.setRawMode(false);
    this.#out.write(leave);
  };
}
