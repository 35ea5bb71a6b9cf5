import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Supervisor, waitAfter } from '../../src/processes/supervisor.js';

const program = fileURLToPath(new URL('../fixtures/short-lived-worker.js', import.meta.url));

describe('a process that ends unexpectedly', () => {
  test('is started again, after longer and longer waits, and after five short lives not any more', () => {
    const waits = [0, 1, 2, 3, 4, 5].map(waitAfter);
    expect(waits).toEqual([100, 100, 200, 400, 800, undefined]);
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
