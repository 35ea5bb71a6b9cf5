import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Remedy, remedyFor, Supervisor } from '../../src/processes/supervisor.js';

const program = fileURLToPath(new URL('../fixtures/short-lived-worker.js', import.meta.url));

describe('a process that ends unexpectedly', () => {
  test('is started again, after longer and longer waits, and after five short lives not any more', () => {
    const waits: (number | Remedy['kind'])[] = [];
    let shortLives = 0;
    for (let lives = 0; lives < 6; lives += 1) {
      const remedy = remedyFor(shortLives, 500);
      waits.push(remedy.kind === 'give up' ? remedy.kind : remedy.waitMs);
      if (remedy.kind === 'start again') shortLives = remedy.shortLives;
    }
    expect(waits).toEqual([100, 200, 400, 800, 'give up', 'give up']);
  });

  test('starts with a clean record after it has run for a while', () => {
    expect(remedyFor(4, 60_000)).toEqual({ kind: 'start again', waitMs: 100, shortLives: 0 });
  });
});

describe('the supervisor', () => {
  let supervisor: Supervisor | undefined;
  afterEach(() => supervisor?.stop());
  const logger = pino({ level: 'silent' });
  const open = (env: Record<string, string> = {}) => {
    Object.assign(process.env, env);
    supervisor = new Supervisor({ processes: 2, target: undefined, logger, program });
    return supervisor;
  };

  test('stops with a clear message if a process ends at once again and again', async () => {
    const opened = open();
    await opened.start();
    const { message } = await opened.givenUp;
    expect(message).toMatch(/^Process 2 ended 5 times in a row shortly after it started, .* exit code 3\. /);
  });

  test('starts no further process if it is stopped while the first one starts', async () => {
    const opened = open();
    const starting = opened.start().catch(() => undefined);
    await opened.stop();
    await starting;
    expect(Object.keys(cluster.workers ?? {})).toEqual([]);
  });

  test('reports why the system cannot start a process, and can still be stopped', async () => {
    vi.spyOn(process, 'execPath', 'get').mockReturnValue('/nonexistent/node');
    const opened = open();
    await expect(opened.start()).rejects.toThrow('spawn /nonexistent/node ENOENT');
    vi.restoreAllMocks();
    await opened.stop();
  });

  test('does not start if the first process cannot, and reports why in one line', async () => {
    const opened = open({ WORKER_FAULT: 'POSTHORN_PORT: "127.0.0.1:80" cannot be used.' });
    const failure = opened.start().catch((error: Error) => error.message);
    delete process.env.WORKER_FAULT;
    expect(await failure).toBe('POSTHORN_PORT: "127.0.0.1:80" cannot be used.');
  });
});
