import { PosthornError } from '@posthorn/client';
import { describe, expect, it } from 'vitest';
import { messageOf, remedyOf } from '../src/api/problem.js';

const unsure = 'The action may have taken effect. You can safely press the button again.';

describe('the console', () => {
  it('says that an action may have taken effect only if the service itself did not respond', () => {
    const lost = new PosthornError({
      status: 0,
      code: 'unreachable',
      detail: 'There was no response from http://127.0.0.1:7400: Failed to fetch.',
    });
    const late = new PosthornError({
      status: 0,
      code: 'timeout',
      detail: 'There was no response from http://127.0.0.1:7400 within 9 ms.',
    });
    const proxy = new PosthornError({ status: 502, code: 'unexpected_response', detail: 'Check the URL.' });
    const busy = new PosthornError({ status: 503, code: 'unavailable', detail: 'Nothing was changed.' });
    expect([lost, late, proxy].map((error) => remedyOf(error, true))).toEqual([unsure, unsure, unsure]);
    expect(remedyOf(busy, true)).toBe('You can safely press the button again.');
    expect(remedyOf(busy)).toBe('The console will try again automatically.');
    expect(messageOf(lost)).toBe('There was no response: the connection failed or was lost.');
    expect(messageOf(late)).toBe('No response arrived in time.');
    expect(messageOf(proxy)).toBe('The response with status 502 did not come from the service.');
    expect(messageOf(busy)).toBe('Nothing was changed.');
  });

  it('does not call the refusal by a proxy an unknown outcome', () => {
    const refused = new PosthornError({ status: 403, code: 'unexpected_response', detail: 'Check the URL.' });
    expect(remedyOf(refused, true)).toBeUndefined();
  });
});
