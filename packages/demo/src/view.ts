import { dashboard, type Paint, type Situation } from './dashboard.js';
import type { Figures } from './figures.js';
import { progressLine } from './summary.js';

const frameMs = 250;
const lineMs = 5_000;
const ctrlC = '\u0003';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** What can be watched and changed while the demo runs. */
export interface RunningDemo {
  figures: Figures;
  situation: () => Situation;
  /** Multiplies the events per second, within the limits. */
  changePace: (factor: number) => void;
}

/** The keys of the dashboard, apart from those that change the pace. */
export interface Keys {
  /** Called on `q`. */
  onQuit: () => void;
  /** Called on Ctrl-C, possibly several times. */
  onInterrupt: () => void;
}

/**
 * Takes over the whole terminal, redraws it four times per second, and restores it however the process ends. Returns
 * what closes it.
 */
export function showDashboard(
  { figures, situation, changePace }: RunningDemo,
  paint: Paint,
  { onQuit, onInterrupt }: Keys,
  { stdout, stdin }: Pick<NodeJS.Process, 'stdout' | 'stdin'> = process,
): () => void {
  // Each line is cleared before it is written: after a full line, the cursor is still on its last character.
  const draw = () => {
    const size = { columns: stdout.columns || 80, rows: stdout.rows || 24 };
    const lines = dashboard(figures, situation(), size, paint);
    const below = lines.length < size.rows ? `\r\n${clearBelow}` : '';
    stdout.write(home + lines.map((line) => clearLine + line).join('\r\n') + below);
  };
  const press = (keys: string | Buffer) => {
    for (const key of keys.toString()) {
      if (key === 'q' || key === 'Q') onQuit();
      else if (key === ctrlC) onInterrupt();
      else if (key === '+' || key === '=') changePace(2);
      else if (key === '-') changePace(0.5);
    }
    draw();
  };
  const restore = () => {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdout.write(leave);
  };
  stdout.write(enter);
  stdout.on('resize', draw);
  process.once('exit', restore);
  if (stdin.isTTY) {
    stdin.setEncoding('utf8').setRawMode(true);
    stdin.on('data', press).resume();
  }
  const timer = setInterval(draw, frameMs);
  draw();
  return () => {
    clearInterval(timer);
    stdout.off('resize', draw);
    stdin.off('data', press).pause();
    process.off('exit', restore);
    restore();
  };
}

/** Prints one line every few seconds, without escape codes, for pipes and logs. Returns what ends this. */
export function printLines({ figures, situation }: RunningDemo, print: (line: string) => void): () => void {
  const { publicUrl, organizationId, console: address } = situation();
  print(`Demo running: ${organizationId} on ${publicUrl}`);
  // Without the token, because this output may end up in a log.
  print(`Console: ${address.url} (token: ${address.tokenFile})`);
  const timer = setInterval(() => print(progressLine(figures, situation().nowMs)), lineMs);
  return () => clearInterval(timer);
}
