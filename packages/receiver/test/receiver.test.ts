import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import {
  createReceiver,
  type EnvelopeOf,
  type Format,
  type Handlers,
  memorySeen,
  type Outcome,
  type ReceiverOptions,
  type Seen,
  sign,
} from '../src/index.js';
import { type SignedRequestOptions, signedRequest } from '../src/testing.js';

const secret = 'a-secret-of-the-receiver';
type Type = Parameters<typeof signedRequest>[0];

/** A receiver that keeps its log and its errors, and a function that sends it a request. */
function started(options: Partial<ReceiverOptions> = {}) {
  const log: Outcome[] = [];
  const errors: unknown[] = [];
  const receiver = createReceiver({
    secret,
    on: {},
    log: (outcome) => log.push(outcome),
    onError: (error) => errors.push(error),
    ...options,
  });
  const send = (type: Type = 'invoice.paid', request: Partial<SignedRequestOptions<Type>> = {}) => {
    const { body, headers } = signedRequest(type, { secret, ...request });
    return receiver.receive(body, headers);
  };
  return { receiver, send, log, errors };
}

/** A promise and what settles it. Node 20 has no Promise.withResolvers. */
function gate() {
  let resolve: () => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<void>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

describe('format', () => {
  const sent = (format: Format, body: object, isDelivery = true) => {
    const text = JSON.stringify(body);
    const headers = { ...sign(text, { id: 'EVT-1', timestamp: new Date(), key: secret }) };
    const got: unknown[] = [];
    const receiver = createReceiver({ secret, format, on: { '*': (event: unknown) => got.push(event) } });
    const delivery = isDelivery ? { 'X-Service-Delivery': 'WDLV-1' } : {};
    return receiver.receive(text, { ...headers, ...delivery }).then(({ text }) => ({ text, got }));
  };

  test.each(['event', 'thin', 'cloudevents'] as const)(
    '%s: handlers get the body as it is',
    async (format) => {
      const body = { id: 'EVT-1', type: 'invoice.paid', specversion: '1.0' };
      expect(await sent(format, body)).toEqual({ text: 'handled', got: [body] });
    },
  );

  test.each(['slack', 'template'] as const)(
    '%s: the handler for * gets a body of any shape',
    async (format) => {
      expect(await sent(format, ['a'])).toEqual({
        text: 'handled',
        got: [{ id: 'EVT-1', type: '*', body: ['a'] }],
      });
      expect(await sent(format, { text: 'Hello' }, false)).toEqual({ text: 'verified', got: [] });
    },
  );

  test('decides the type of what handlers get', () => {
    const on = <Of extends Format>(format: Of, on: Handlers<undefined, Of>) =>
      createReceiver({ secret, format, on });
    on('event', {
      'invoice.paid': ({ payload, actor }) => [payload.amount_minor satisfies number | undefined, actor.id],
    });
    on('cloudevents', { 'invoice.*': ({ specversion, subject }) => [specversion satisfies '1.0', subject] });
    // @ts-expect-error: thin events have no payload
    on('thin', { 'invoice.paid': ({ payload }) => payload });
    // @ts-expect-error: only a handler for * gets the body of a template
    on('template', { 'invoice.paid': () => undefined });
    on('slack', { '*': ({ body }) => expectTypeOf(body.text).toEqualTypeOf<string>() });
    expect(() => on('event', { invoice: () => undefined } as never)).toThrow(/would never run/);
  });
});

describe('handlers', () => {
  test('get the event, and the most specific one runs', async () => {
    const calls: string[] = [];
    const { send } = started({
      on: {
        'invoice.paid': ({ data }) => calls.push(`paid ${data.amount_minor}`),
        'invoice.*': ({ type }) => calls.push(`an invoice: ${type}`),
        'agent.*': ({ type }) => calls.push(`an agent: ${type}`),
        '*': ({ type }) => calls.push(`anything: ${type}`),
      },
    });
    await send('invoice.paid', { data: { amount_minor: 1999 } as never });
    await send('invoice.voided');
    await send('agent.run.started');
    await send('task.created');
    await send('constructor' as Type);
    expect(calls).toEqual([
      'paid 1999',
      'an invoice: invoice.voided',
      'an agent: agent.run.started',
      'anything: task.created',
      'anything: constructor',
    ]);
  });

  test('know the type of their event', () => {
    createReceiver({
      secret,
      on: {
        'incident.opened': (event) => expectTypeOf(event.data.severity).toEqualTypeOf<string>(),
        'incident.*': (event) =>
          expectTypeOf(event).toEqualTypeOf<
            EnvelopeOf<'incident.opened' | 'incident.resolved' | 'incident.severity_changed'>
          >(),
        '*': (event) => (event.type === 'webhook.disabled' ? event.data.reason : undefined),
      },
    });
    // @ts-expect-error: there is no such type
    createReceiver({ secret, on: { 'invoice.payed': () => {} } });
    // @ts-expect-error: nor such a domain
    createReceiver({ secret, on: { 'invoices.*': () => {} } });
  });

  test('get the context that seen gives them', async () => {
    const notes: string[] = [];
    const seen: Seen<{ note(text: string): void }> = {
      async once(id, work) {
        await work({ note: (text) => notes.push(`${id}: ${text}`) });
        return true;
      },
    };
    const receiver = createReceiver({
      secret,
      seen,
      on: { 'invoice.paid': ({ data }, { note }) => note(`${data.currency}`) },
    });
    const options = { secret, envelope: { id: 'EVT-1' }, data: { currency: 'SEK' } };
    const { body, headers } = signedRequest('invoice.paid', options);
    await receiver.receive(body, headers);
    expect(notes).toEqual(['EVT-1: SEK']);
  });

  test('must be functions', () => {
    const on = { 'invoice.paid': undefined } as never;
    expect(() => createReceiver({ secret, on })).toThrow('the handler for invoice.paid is not a function');
  });

  test.each(['agent.run.*', 'invoice*', '*.paid', 'Invoice.paid', 'invoice', ''])(
    'are refused for %j, which no event would reach',
    (of) => {
      expect(() => createReceiver({ secret, on: { [of]: () => undefined } })).toThrow('would never run');
    },
  );

  test('say that they are missing', () => {
    // @ts-expect-error: as in JavaScript
    expect(() => createReceiver({ secret })).toThrow('the option on is missing');
  });

  test('that fail make the response 500 without saying why, and onError gets the error', async () => {
    const { send, errors, log } = started({
      on: {
        'invoice.paid': async () => {
          throw new Error('the database is down');
        },
      },
    });
    expect(await send()).toMatchObject({ status: 500, text: 'The handler failed.' });
    expect(errors).toEqual([new Error('the database is down')]);
    expect(log).toMatchObject([{ outcome: 'failed', status: 500, type: 'invoice.paid' }]);
  });
});

describe('responses', () => {
  test('are 200 to the verification request, which reaches no handler', async () => {
    const handler = vi.fn();
    const { send, log } = started({ on: { '*': handler } });
    expect(await send('webhook.verification')).toMatchObject({ status: 200 });
    expect(handler).not.toHaveBeenCalled();
    expect(log).toMatchObject([{ outcome: 'verification', delivery: undefined }]);
  });

  test('are 200 to an event that has no handler', async () => {
    const { send, log } = started({ on: { 'invoice.paid': () => {} } });
    expect(await send('task.created')).toMatchObject({ status: 200, text: 'ignored' });
    expect(log).toMatchObject([{ outcome: 'ignored', delivery: expect.stringMatching(/^WDLV-/) }]);
  });

  test('wait for the handler', async () => {
    const { promise, resolve } = gate();
    const { send } = started({ on: { 'invoice.paid': () => promise } });
    let status = 0;
    const sent = send().then((reply) => {
      status = reply.status;
    });
    await new Promise(setImmediate);
    expect(status).toBe(0);
    resolve();
    await sent;
    expect(status).toBe(200);
  });

  test('with respondFirst come before the work; idle waits for it, and its failure is reported', async () => {
    const { promise, reject } = gate();
    const { receiver, send, log, errors } = started({ respondFirst: true, on: { '*': () => promise } });
    const reply = await send();
    expect(reply).toMatchObject({ status: 200, text: 'accepted', work: expect.any(Promise) });
    let idle = false;
    const waited = receiver.idle().then(() => {
      idle = true;
    });
    await new Promise(setImmediate);
    expect(idle).toBe(false);
    reject(new Error('too late to say so'));
    await waited;
    expect(errors).toHaveLength(1);
    expect(log.map(({ outcome }) => outcome)).toEqual(['accepted', 'failed']);
  });

  test('are 400 to a signed body that is not an event', async () => {
    const { sign } = await import('../src/index.js');
    const { receiver } = started();
    for (const body of ['null', '[]', '{"id":1,"type":"a.b"}', 'not JSON']) {
      const headers = sign(body, { id: 'EVT-1', timestamp: new Date(), key: secret });
      expect(await receiver.receive(body, headers)).toMatchObject({ status: 400 });
    }
  });
});

describe('refused requests', () => {
  test.each([
    ['unsigned', 401, 'missing_signature'],
    ['expired', 401, 'timestamp_too_old'],
    ['wrong_secret', 401, 'signature_mismatch'],
    ['tampered', 401, 'signature_mismatch'],
  ] as const)('that are %s get %i and %s, in the response and in the log', async (fault, status, reason) => {
    const handler = vi.fn();
    const { send, log } = started({ on: { '*': handler } });
    const reply = await send('invoice.paid', { fault });
    expect(reply.status).toBe(status);
    expect(reply.text).toMatch(new RegExp(`^${reason}: .*\\.$`));
    expect(log).toMatchObject([{ outcome: 'refused', status, reason, detail: expect.any(String) }]);
    expect(handler).not.toHaveBeenCalled();
  });

  test('that are old are refused even if the signature without a time is valid', async () => {
    const { receiver } = started();
    const { headers, body } = signedRequest('invoice.paid', { secret });
    const { 'X-Service-Signature': signature = '' } = headers;
    expect(await receiver.receive(body, { 'X-Service-Signature': signature })).toMatchObject({
      status: 401,
      text: expect.stringContaining('missing_timestamp'),
    });
  });

  test('get 500 if the application is at fault: no secret, or a parsed body', async () => {
    expect(await started({ secret: undefined }).send()).toMatchObject({ status: 500 });
    expect(await started({ secret: ` ${secret}` }).send()).toMatchObject({ status: 500 });
    const { headers, event } = signedRequest('invoice.paid', { secret });
    const { receiver, log } = started();
    expect(await receiver.receive(event as never, headers)).toMatchObject({ status: 500 });
    expect(log).toMatchObject([
      { reason: 'body_not_raw', detail: expect.stringContaining('express.json()') },
    ]);
  });

  test('are printed to the console if there is no log', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const receiver = createReceiver({ secret: 'another-secret-0001', on: {} });
    const { body, headers } = signedRequest('invoice.paid', { secret });
    await receiver.receive(body, headers);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('refused with 401, signature_mismatch: ')]]);
  });
});

test('either secret is accepted during a rotation', async () => {
  const { send } = started({ secret: [undefined, 'the-new-secret-001', secret], on: { '*': () => {} } });
  expect(await send()).toMatchObject({ status: 200 });
  expect(await send('invoice.paid', { secret: 'the-new-secret-001' })).toMatchObject({ status: 200 });
});

test('a hook that throws changes no response', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => error.mockRestore());
  const hook = () => {
    throw new Error('of the hook');
  };
  const { send } = started({ log: hook, onError: hook, on: { 'invoice.paid': hook } });
  expect(await send()).toMatchObject({ status: 500 });
  expect(await send('task.created')).toMatchObject({ status: 200 });
  expect(error).toHaveBeenCalledTimes(3);
});

describe('an event that comes again', () => {
  const again = { envelope: { id: 'EVT-1' } } as const;

  test('is not handled again, and the response is 200', async () => {
    const handler = vi.fn();
    const { send, log } = started({ seen: memorySeen(), on: { '*': handler } });
    await send('invoice.paid', again);
    expect(await send('invoice.paid', again)).toMatchObject({ status: 200, text: 'duplicate' });
    expect(handler).toHaveBeenCalledTimes(1);
    expect(log.map(({ outcome }) => outcome)).toEqual(['handled', 'duplicate']);
  });

  test('is handled again if its handler failed', async () => {
    const handler = vi.fn().mockRejectedValueOnce(new Error('at first'));
    const { send } = started({ seen: memorySeen(), on: { '*': handler } });
    expect(await send('invoice.paid', again)).toMatchObject({ status: 500 });
    expect(await send('invoice.paid', again)).toMatchObject({ status: 200, text: 'handled' });
  });

  test.each([
    ['succeeds', [200, 200]],
    ['fails', [500, 500]],
  ] as const)('while the handler works shares the outcome: it %s', async (outcome, statuses) => {
    const { promise, resolve, reject } = gate();
    const handler = vi.fn(() => promise);
    const { send } = started({ seen: memorySeen(), on: { '*': handler } });
    const sent = [send('invoice.paid', again), send('invoice.paid', again)];
    await new Promise(setImmediate);
    if (outcome === 'succeeds') resolve();
    else reject(new Error('of the work'));
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(statuses);
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test('is forgotten once memory is full of newer events', async () => {
    const handler = vi.fn();
    const { send } = started({ seen: memorySeen(2), on: { '*': handler } });
    for (const id of ['EVT-1', 'EVT-2', 'EVT-2', 'EVT-3', 'EVT-3', 'EVT-1']) {
      await send('invoice.paid', { envelope: { id } });
    }
    expect(handler).toHaveBeenCalledTimes(4);
  });
});
