import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { until } from './waiting.js';

/** What this run has started and must end, whatever happens. */
const started = new Set();
const undoing = new Set();

/** Starts a program with its output in a file. It ends with this process at the latest. */
export function start(file, args, { logFile, ...options }) {
  const log = openSync(logFile, 'a');
  const child = spawn(file, args, { ...options, stdio: ['ignore', log, log] });
  closeSync(log);
  return keep(child);
}

/** Keeps a child process, so that it is ended with this one. */
export function keep(child) {
  started.add(child);
  child.once('exit', () => started.delete(child));
  child.once('error', () => started.delete(child));
  return child;
}

/** Calls `undo` when this process ends, unless the returned function was called before. */
export function undoAtExit(undo) {
  undoing.add(undo);
  return () => {
    undoing.delete(undo);
    undo();
  };
}

/** Removes a directory now if the returned function is called, otherwise when this process ends. */
export const removeAtExit = (directory) =>
  undoAtExit(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));

/** Returns a process and all its descendants. */
function familyOf(pid) {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(familyOf)];
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Sends a signal to a process and all its descendants. */
export function signalFamily(pid, signal) {
  for (const member of familyOf(pid)) signalOne(member, signal);
}

function signalOne(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Kills a process and all its descendants, and waits until none of them is left. */
export async function killFamily(child) {
  const family = familyOf(child.pid);
  for (const pid of family) signalOne(pid, 'SIGKILL');
  await until('the end of a killed process', () => family.every((pid) => !isRunning(pid)), 10_000, 10);
  // As long as its process ID exists, a new PostgreSQL refuses to start.
  await ended(child, 10_000);
}

/** Returns whether a process is running. A zombie is not: it has ended, but its parent has not noticed yet. */
function isRunning(pid) {
  const state = /^State:\s+(\S)/m.exec(textOf(`/proc/${pid}/status`))?.[1];
  return state !== undefined && state !== 'Z';
}

/** Resolves when a process has ended by itself. */
export function ended(child, withinMs) {
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  return until('the end of a process', isOver, withinMs, 20);
}

/** Returns the resident memory of a process in MiB, now and at its highest. */
export function memoryMb(pid) {
  const status = textOf(`/proc/${pid}/status`);
  const read = (name) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

/** Ends everything that this run has started. */
function endEverything() {
  for (const { pid } of started) if (pid !== undefined) signalFamily(pid, 'SIGKILL');
  for (const undo of [...undoing].reverse()) {
    try {
      undo();
    } catch {
      // The process is ending; what is left is in the temporary directory.
    }
  }
}

process.on('exit', endEverything);
for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
  process.on(signal, () => process.exit(code));
}
