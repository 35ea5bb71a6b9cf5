import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inputProblem, Problem, type ProblemCode, problems } from '../../src/values/problem.js';

const codes = Object.keys(problems) as ProblemCode[];

describe('a problem', () => {
  test.each(codes)('%s has the status and title of the table', (code) => {
    expect(problems[code].title).toMatch(/^[A-Z].*[^.]$/);
    expect(problems[code].status).toBeGreaterThanOrEqual(400);
    expect(problems[code].status).toBeLessThan(600);
    expect(new Problem(code, 'why').status).toBe(problems[code].status);
  });

  test('has a unique title, so that people can distinguish codes', () => {
    expect(new Set(codes.map((code) => problems[code].title)).size).toBe(codes.length);
  });

  test('has the status that the contract gives its code', () => {
    const promised = {
      malformed_json: 400,
      invalid_parameter: 400,
      invalid_cursor: 400,
      unauthenticated: 401,
      insufficient_scope: 403,
      organization_forbidden: 403,
      workspace_forbidden: 403,
      not_found: 404,
      method_not_allowed: 405,
      body_too_large: 413,
      unsupported_media_type: 415,
      invalid_body: 422,
      rate_limited: 429,
      internal: 500,
      unavailable: 503,
    };
    for (const [code, status] of Object.entries(promised)) {
      expect(problems[code as ProblemCode].status, code).toBe(status);
    }
  });

  test('can have faults and headers', () => {
    const fault = { parameter: 'limit', code: 'too_large', detail: 'must be at most 100' };
    const full = new Problem('invalid_parameter', 'why', {
      faults: [fault],
      headers: { 'Retry-After': '1' },
    });
    expect([full.message, full.faults, full.headers]).toEqual(['why', [fault], { 'Retry-After': '1' }]);
    const bare = new Problem('internal', 'why');
    expect([bare.faults, bare.headers]).toEqual([[], {}]);
  });
});

describe('the problem for invalid input', () => {
  const detail = fc.stringMatching(/^[a-z ]{1,20}$/);
  const inQuery = fc.record({
    parameter: fc.constantFrom('limit', 'from', 'cursor'),
    code: fc.constantFrom('invalid_cursor', 'too_long', 'repeated_parameter'),
    detail,
  });
  const inBody = fc.record({
    pointer: fc.constantFrom('', '/type', '/0/payload'),
    code: fc.constant('required'),
    detail,
  });

  test('is undefined without faults', () => {
    expect(inputProblem([])).toBeUndefined();
  });

  test('lists every fault, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(inQuery, inBody), { minLength: 1 }), (faults) => {
        expect(inputProblem(faults)?.faults).toEqual(faults);
      }),
    );
  });

  test('is 422 if only the body is invalid, and 400 if the query string is', () => {
    fc.assert(
      fc.property(fc.array(inBody, { minLength: 1 }), fc.array(inQuery, { minLength: 1 }), (body, query) => {
        expect(inputProblem(body)).toMatchObject({ code: 'invalid_body', status: 422 });
        expect(inputProblem([...body, ...query])?.status).toBe(400);
        expect(inputProblem(query)?.status).toBe(400);
      }),
    );
  });

  test('is invalid_cursor if the cursor is the only fault in the query string', () => {
    fc.assert(
      fc.property(fc.array(inQuery, { minLength: 1 }), (faults) => {
        const onlyCursor = faults.every(
          ({ parameter, code }) => parameter === 'cursor' && code !== 'repeated_parameter',
        );
        expect(inputProblem(faults)?.code).toBe(onlyCursor ? 'invalid_cursor' : 'invalid_parameter');
      }),
      { numRuns: 300 },
    );
  });

  test('names the first fault and the number of others', () => {
    const limit = { parameter: 'limit', code: 'too_large', detail: 'must be at most 100' };
    const body = { pointer: '', code: 'wrong_type', detail: 'must be an object' };
    const type = { pointer: '/type', code: 'required', detail: 'is required' };
    expect(inputProblem([limit])?.message).toBe("'limit' must be at most 100.");
    expect(inputProblem([body])?.message).toBe('The body must be an object.');
    expect(inputProblem([type, limit, body])?.message).toBe('/type is required. See errors for 2 more.');
  });

  test('lists only the first faults if it is told to, and says how many there are', () => {
    const faults = ['/a', '/b', '/c'].map((pointer) => ({
      pointer,
      code: 'required',
      detail: 'is required',
    }));
    const problem = inputProblem(faults, 2);
    expect(problem?.faults).toEqual(faults.slice(0, 2));
    expect(problem?.message).toBe('/a is required. See errors for the first 1 of 2 more.');
  });
});
