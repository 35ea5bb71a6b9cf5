import { styleText } from 'node:util';
import { type Column, layOutTable } from './table.js';

type Style = Parameters<typeof styleText>[0];
/** Standard output, or a replacement for it. */
export type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** A name with its value. Without a value, it is not printed. */
export type Field = readonly [name: string, value: string | null | false | undefined];

/** Writes the output of a command: colors and aligned tables in a terminal, tab-separated lines in a pipe. */
export class Terminal {
  readonly #out: Output;
  readonly #errors: Output;
  readonly #colors: boolean;
  readonly isInteractive: boolean;
  /** Whether to exit if the output cannot be written. True for commands that only print, false for a service. */
  endsWithItsReader = true;
  /** Whether to finish even if nobody reads the output any more, because a database has to be stopped afterwards. */
  finishesWithoutReader = false;
  /** A sentence with a secret that is shown only once. If the output cannot be written, it goes to standard error. */
  shownOnce = '';
  #status = '';
  /** The color sequences that `paint` has used. */
  readonly #painted = new Set<string>();

  constructor(out: Output, errors: Output, env: Record<string, string | undefined>) {
    this.#out = out;
    this.#errors = errors;
    this.isInteractive = out.isTTY === true;
    this.#colors = this.isInteractive && !env.NO_COLOR && env.TERM !== 'dumb';
    out.on('error', (error: NodeJS.ErrnoException) => {
      const isUnread = hasNoReader(error) && this.finishesWithoutReader;
      if (this.endsWithItsReader && !isUnread) this.#exitWithout(error);
    });
  }

  /** Exits because the output cannot be written. */
  #exitWithout(error: NodeJS.ErrnoException): never {
    if (hasNoReader(error) && this.shownOnce === '') process.exit(0);
    this.#errors.write(
      `${escaped(`Cannot write the output: ${error.message}. ${this.shownOnce}`).trimEnd()}\n`,
    );
    process.exit(1);
  }

  /**
   * Ends the process with SIGHUP, as the last step after the terminal was closed. Otherwise, Node would abort because
   * it cannot restore the terminal's settings.
   */
  hangUp(): void {
    if (!this.isInteractive) return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  }

  /** Where to prompt the user: standard output or, if that is redirected, standard error. */
  get promptOutput(): Output | undefined {
    return [this.#out, this.#errors].find(({ isTTY }) => isTTY);
  }

  /** The width of the terminal, or of a help text in a pipe. */
  get width(): number {
    return (this.isInteractive && this.#out.columns) || 100;
  }

  line(text = ''): void {
    this.status('');
    this.#out.write(`${escaped(text, this.#painted)}\n`);
  }

  /** Prints a line that only helps people. */
  hint(text: string): void {
    this.line(this.paint('dim', text));
  }

  /** Names the command to run next, if there is one and somebody who can run it. */
  next(command: string | undefined): void {
    if (command !== undefined && this.isInteractive) this.hint(`Next: ${command}`);
  }

  /** Waits until everything that was printed has been written. Returns false if it could not be written. */
  written(): Promise<boolean> {
    return new Promise((resolve) => this.#out.write('', (error) => resolve(!error)));
  }

  /** Prints a line for people to standard error, so that standard output contains only the result. */
  note(text: string): void {
    this.status('');
    this.#errors.write(`${escaped(text)}\n`);
  }

  /** Shows a progress line until the next one replaces it. Prints nothing in a pipe. */
  status(text: string): void {
    if (!this.isInteractive || text === this.#status) return;
    this.#status = text;
    this.#out.write(`\r\u001b[2K${escaped(text, this.#painted)}`);
  }

  paint(style: Style, text: string): string {
    if (!this.#colors) return text;
    const sequences = styleText(style, '', { validateStream: false });
    for (const [sequence] of sequences.matchAll(/\p{Cc}\[\d+m/gu)) this.#painted.add(sequence);
    return styleText(style, text, { validateStream: false });
  }

  /** Prints names and values, one pair per line. In a terminal, a value may have several lines. */
  fields(pairs: readonly Field[]): void {
    const width =
      Math.max(...pairs.map(([name, value]) => (typeof value === 'string' ? name.length : 0))) + 2;
    for (const [name, value] of pairs) {
      if (typeof value !== 'string') continue;
      const indented = value.replaceAll('\n', `\n${' '.repeat(width)}`);
      this.line(
        this.isInteractive
          ? `${this.paint('bold', name.padEnd(width))}${indented}`
          : `${name}\t${this.#cell(value)}`,
      );
    }
  }

  /** Prints a table: aligned to the width of a terminal, complete in a pipe. */
  table<Row>(given: readonly Column<Row>[], rows: readonly Row[]): void {
    const columns = given.map(({ of, short = of, ...column }) => ({
      ...column,
      of: (row: Row) => this.#cell(of(row)),
      short: (row: Row) => this.#cell(short(row)),
    }));
    if (!this.isInteractive) {
      for (const row of rows) this.line(columns.map(({ of }) => of(row)).join('\t'));
      return;
    }
    const { heading, lines, leftOut } = layOutTable(
      columns,
      rows,
      this.#out.columns || Number.POSITIVE_INFINITY,
    );
    this.line(this.paint('bold', heading));
    for (const line of lines) this.line(line);
    if (leftOut.length > 0) this.hint(`Hidden columns: ${leftOut.join(', ')}. Use --json to see everything.`);
  }

  /** Returns the text of a cell in one line: a tab or a line break would start another cell or row. */
  #cell(text: string): string {
    return escaped(text.replaceAll(/(?:\r?\n|\t)+/g, ' '), this.#painted);
  }
}

/** Returns whether the reader has gone away: `posthorn events list | head`, or (EIO) a closed terminal. */
function hasNoReader({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EIO';
}

const colorOrControl = /(?![\t\n])(?:\p{Cc}\[\d+m|[\p{Cc}\p{Bidi_Control}])/gu;

/**
 * Returns the text with every control character as `\u001b`, except tabs, line breaks and the color sequences in
 * `kept`. Otherwise, what a receiver responds, or what somebody wrote into an event, could move the cursor, clear the
 * screen, write to the clipboard or reverse the text after it. The meaning of JSON stays the same.
 */
export function escaped(text: string, kept: ReadonlySet<string> = new Set()): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(colorOrControl, (found) =>
      kept.has(found) ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`,
    );
}
