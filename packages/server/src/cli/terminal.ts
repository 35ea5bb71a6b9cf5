import { stripVTControlCharacters, styleText } from 'node:util';

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

  table(headings: readonly string[], rows: readonly (readonly string[])[]): void {
    if (!this.isInteractive) {
      for (const row of rows) this.line(row.join('\t'));
      return;
    }
    const widths = headings.map((heading, column) =>
      Math.max(heading.length, ...rows.map((row) => printedLength(row[column] ?? ''))),
    );
    const render = (cells: readonly string[]) =>
      cells
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - printedLength(cell)))
        .join('  ')
        .trimEnd();
    this.line(this.paint('bold', render(headings)));
    for (const row of rows) this.line(render(row));
  }
}

function printedLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
