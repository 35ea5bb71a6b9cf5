import { dashboard } from './dashboard.js';
import type { RunningDemo } from './demo.js';
import type { Paint } from './line.js';
import { Screen } from './screen.js';
import { progressLine } from './summary.js';

const frameMs = 250;
const lineMs = 5_000;
const ctrlC = '\u0003';

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

/** The whole terminal, redrawn four times per second. */
export class DashboardView implements View {
  readonly #screen: Screen;
  readonly #timer: NodeJS.Timeout;

  constructor(
    running: RunningDemo,
    paint: Paint,
    { onQuit, onInterrupt }: Keys,
    terminal: Pick<NodeJS.Process, 'stdout' | 'stdin'> = process,
  ) {
    const draw = () =>
      this.#screen.show(dashboard(running.figures, running.situation(), this.#screen.size, paint));
    this.#screen = new Screen(terminal.stdout, terminal.stdin, {
      onResize: draw,
      onKey: (keys) => {
        for (const key of keys) {
          if (key === 'q' || key === 'Q') onQuit();
          else if (key === ctrlC) onInterrupt();
          else if (key === '+' || key === '=') running.changePace(2);
          else if (key === '-') running.changePace(0.5);
        }
        draw();
      },
    });
    this.#timer = setInterval(draw, frameMs);
    draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#screen.close();
  }
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
