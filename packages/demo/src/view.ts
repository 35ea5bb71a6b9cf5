import { dashboard, type Size } from './dashboard.js';
import type { RunningDemo } from './demo.js';
import { progressLine } from './summary.js';
import type { Paint } from './text.js';

const frameMs = 250;
const lineMs = 5_000;
const ctrlC = '\u0003';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** Shows a running demo. */
export interface View {
  close: () => void;
}

/** The keys of the dashboard, apart from those that change the pace. */
export interface Keys {
  /** Called on `q`. */
  onQuit: () => void;
  /** Called on Ctrl-C, possibly several times. */
  onInterrupt: () => void;
}

/** Takes over the whole terminal, redraws it four times per second, and restores it however the process ends. */
export class DashboardView implements View {
  readonly #running: RunningDemo;
  readonly #paint: Paint;
  readonly #keys: Keys;
  readonly #out: NodeJS.WriteStream;
  readonly #in: NodeJS.ReadStream;
  readonly #timer: NodeJS.Timeout;
  #isOpen = true;

  constructor(
    running: RunningDemo,
    paint: Paint,
    keys: Keys,
    { stdout, stdin }: Pick<NodeJS.Process, 'stdout' | 'stdin'> = process,
  ) {
    this.#running = running;
    this.#paint = paint;
    this.#keys = keys;
    this.#out = stdout;
    this.#in = stdin;
    stdout.write(enter);
    stdout.on('resize', this.#draw);
    process.once('exit', this.#restore);
    if (stdin.isTTY) {
      stdin.setEncoding('utf8').setRawMode(true);
      stdin.on('data', this.#press).resume();
    }
    this.#timer = setInterval(this.#draw, frameMs);
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#out.off('resize', this.#draw);
    this.#in.off('data', this.#press).pause();
    process.off('exit', this.#restore);
    this.#restore();
  }

  readonly #press = (keys: string | Buffer): void => {
    for (const key of keys.toString()) {
      if (key === 'q' || key === 'Q') this.#keys.onQuit();
      else if (key === ctrlC) this.#keys.onInterrupt();
      else if (key === '+' || key === '=') this.#running.changePace(2);
      else if (key === '-') this.#running.changePace(0.5);
    }
    this.#draw();
  };

  /** Clears each line before writing it: after a full line, the cursor is still on its last character. */
  readonly #draw = (): void => {
    if (!this.#isOpen) return;
    const size: Size = { columns: this.#out.columns || 80, rows: this.#out.rows || 24 };
    const lines = dashboard(this.#running.figures, this.#running.situation(), size, this.#paint);
    const below = lines.length < size.rows ? `\r\n${clearBelow}` : '';
    this.#out.write(home + lines.map((line) => clearLine + line).join('\r\n') + below);
  };

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#in.isTTY) this.#in.setRawMode(false);
    this.#out.write(leave);
  };
}

/** Prints one line every few seconds, without escape codes, for pipes and logs. */
export class LineView implements View {
  readonly #timer: NodeJS.Timeout;

  constructor(running: RunningDemo, print: (line: string) => void) {
    const { publicUrl, organizationId, console: address } = running.situation();
    print(`Demo running: ${organizationId} on ${publicUrl}`);
    // Without the token, because this output may end up in a log.
    print(`Console: ${address.url} (token: ${address.tokenFile})`);
    this.#timer = setInterval(() => print(progressLine(running.figures, running.situation().nowMs)), lineMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
