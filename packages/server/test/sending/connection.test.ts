import { expect, test } from 'vitest';
import { Connection } from '../../src/sending/connection.js';

test('a handler that throws does not end the process', async () => {
  const refused = new Error('connect ECONNREFUSED');
  const connection = new Connection(new URL('http://127.0.0.1:1'), {
    // Out of a later turn, where nobody who called us could catch anything.
    connect: (_, callback) => void setImmediate(() => callback(refused, null)),
  });
  const uncaught: unknown[] = [];
  const catchIt = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', catchIt);
  const failed = new Promise((resolve) =>
    connection.once('connectionError', (_, __, error) => resolve(error)),
  );
  connection.dispatch(
    { path: '/', method: 'POST' },
    {
      onRequestStart: () => undefined,
      onResponseError: () => {
        throw new Error('a bug of ours');
      },
    },
  );
  expect([await failed, uncaught]).toEqual([refused, []]);
  process.off('uncaughtException', catchIt);
  await connection.destroy();
});
