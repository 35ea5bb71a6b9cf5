import { styleText } from 'node:util';
import { type Column, layTable } from './table.js';

type Style = Parameters<typeof styleText>[0];

/** Where a command writes: colour and aligned tables on a terminal, plain tab-separated lines in a pipe. */
export class Terminal {
  readonly #out: NodeJS.WriteStream;
  readonly #colours: boolean;
  readonly isInteractive: boolean;
  /** A command that only prints is done when nobody reads on; a service is not. */
  endsWithItsReader = true;
  #status = '';

  constructor(out: NodeJS.WriteStream, env: Record<string, string | undefined>) {
    this.#out = out;
    this.isInteractive = out.isTTY === true;
    this.#colours = this.isInteractive && !env.NO_COLOR && env.TERM !== 'dumb';
    // Whoever reads may go away: `posthorn events list | head`, a log collector that is restarted, or (EIO) a
    // terminal that is closed.
    out.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
      if (this.endsWithItsReader) process.exit(0);
    });
  }

  /**
   * The last thing to do where the terminal was closed. Node would abort, as it cannot give it its settings
   * back; so we end by the signal, as programs usually do then.
   */
  hangUp(): void {
    if (!this.isInteractive) return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  }

  line(text = ''): void {
    this.status('');
    this.#out.write(`${text}\n`);
  }

  /** One line that tells how far things are, until the next one takes its place. Nothing in a pipe. */
  status(text: string): void {
    if (!this.isInteractive || text === this.#status) return;
    this.#status = text;
    this.#out.write(`\r\u001b[2K${text}`);
  }

  paint(style: Style, text: string): string {
    return this.#colours ? styleText(style, text, { validateStream: false }) : text;
  }

  /** Aligned, as far as there is room; in a pipe everything, in full. */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
    if (!this.isInteractive) {
      for (const row of rows) this.line(columns.map(({ of }) => of(row)).join('\t'));
      return;
    }
    const { heading, lines, leftOut } = layTable(
      columns,
      rows,
      this.#out.columns || Number.POSITIVE_INFINITY,
    );
    this.line(this.paint('bold', heading));
    for (const line of lines) this.line(line);
    if (leftOut.length > 0)
      this.line(this.paint('dim', `No room for: ${leftOut.join(', ')}. --json shows everything.`));
  }
}
