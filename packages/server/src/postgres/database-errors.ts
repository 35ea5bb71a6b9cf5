const connectFailures = new WeakSet<Error>();

export function noteConnectFailure(error: Error): void {
  connectFailures.add(error);
}

/** Returns whether no connection could be opened, whatever the reason: the network, TLS, the user or the database. */
export function isConnectFailure(error: unknown): error is Error {
  return error instanceof Error && connectFailures.has(error);
}

/** Returns what went wrong. Node.js gives no message if a name has several addresses and none accepts a connection. */
export function reasonOf(error: Error): string {
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/**
 * Classes 08 and 57P0: connections that broke, or that the server has ended or does not accept. 53300: too many
 * connections. 25006: the database is read-only, for example because the primary has become a standby. 25P03, 25P04: a
 * transaction exceeded a time limit of the server, which closed the connection.
 */
const serverCodes = /^(08|57P0|53300|25006|25P0[34])/;
/**
 * Class 40: deadlocks and similar failures. 53000, 53100: insufficient resources, such as a full disk. 55P03: a lock
 * that was not acquired in time. 57014: a statement that was canceled, usually because it exceeded `statement_timeout`
 * while it waited. 58030: the disk failed. Too little memory (53200) is not one of them: it can mean that the statement
 * needs too much.
 */
const transientCodes = /^(40|53000|53100|55P03|57014|58030)/;
const driverMessages =
  /timeout exceeded when trying to connect|Query read timeout|Connection terminated|connection error and is not queryable|Client was closed/;

/** The driver's message when the time limit of a statement expires. */
export const timedOut = 'Query read timeout';

/** Returns whether an error means that the database is unreachable, not that the statement is wrong. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (networkCodes.has(code) || serverCodes.test(code)) return true;
  // A socket that does not exist. A file that does not exist has the same code.
  if (code === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'connect') return true;
  if (error instanceof AggregateError) return error.errors.some(isUnreachable);
  return driverMessages.test(error.message);
}

const hasCode = (code: string) => (error: unknown) => (error as { code?: string } | undefined)?.code === code;

/** Returns whether the database refused to write because it is read-only. */
export const isRefusedWrite = hasCode('25006');

/** Returns whether the database has no disk space left. */
export const isOutOfSpace = hasCode('53100');

/** Returns whether a lock was not acquired in time: another transaction holds it. */
export const isLockTimeout = hasCode('55P03');

/** Returns whether the server canceled the statement, because it exceeded `statement_timeout` or someone asked for it. */
export const isCanceled = hasCode('57014');

/** Returns whether the user lacks the rights that the statement needs. */
export const isForbidden = hasCode('42501');

/** Returns whether a statement took too long, on a database that is reachable. */
export function isTooSlow(error: unknown): boolean {
  return error instanceof Error && (error.message === timedOut || isLockTimeout(error) || isCanceled(error));
}

/** Returns whether the same statement can succeed later, because the state of the database was the problem. */
export function isTransient(error: unknown): boolean {
  return (
    isUnreachable(error) ||
    isConnectFailure(error) ||
    (error instanceof Error && transientCodes.test((error as NodeJS.ErrnoException).code ?? ''))
  );
}

/** Why `posthorn.require_here` refused a write: the organization lives in another cell, or is moving there. */
export interface Refusal {
  organizationId: string;
  cell: string;
  isMoving: boolean;
}

export function refusalOf(error: unknown): Refusal | undefined {
  const { code, detail: cell = '', hint = '' } = error as { code?: string; detail?: string; hint?: string };
  if (code !== 'PH421' && code !== 'PH503') return undefined;
  return { organizationId: hint, cell, isMoving: code === 'PH503' };
}
