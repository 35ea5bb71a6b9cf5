import { expect, test } from 'vitest';
import { problemOf } from '../../src/web/problems.js';

test.each([
  ['a full disk', '53100', '5'],
  ['too little memory', '53200', '5'],
  ['a deadlock', '40P01', '1'],
  ['a canceled statement', '57014', '1'],
])('%s of the database is a 503 that says when to try again', (_what, code, seconds) => {
  const refusal = Object.assign(new Error('could not extend file "base/16384/16418"'), { code });
  const problem = problemOf(refusal, 64 * 1024);
  expect([problem.status, problem.code, problem.headers]).toEqual([
    503,
    'unavailable',
    { 'Retry-After': seconds },
  ]);
  expect(problem.message).not.toContain('base/16384');
});
