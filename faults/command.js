import { readFileSync } from 'node:fs';
import { entry } from './node.js';
import { ended, killFamily, start } from './processes.js';
import { until } from './waiting.js';

const commandMs = 120_000;

/** A command of the operator. */
export class Command {
  #child;
  #logFile;

  constructor(args, env, logFile) {
    this.#logFile = logFile;
    this.#child = start(process.execPath, [entry, ...args], { env: { ...process.env, ...env }, logFile });
  }

  get output() {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** Waits until a text was printed, or the command has ended. */
  until(text) {
    const isPrinted = () => this.output.includes(text) || this.#child.exitCode !== null;
    return until(`the step ${text}`, isPrinted, commandMs, 10);
  }

  /** Returns the exit code, or null if the command was killed. */
  async end() {
    await ended(this.#child, commandMs);
    return this.#child.exitCode;
  }

  get hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  kill() {
    return killFamily(this.#child);
  }
}
