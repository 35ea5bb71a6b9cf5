import { sign } from '@posthorn/receiver';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { Figures } from '../src/figures.js';
import { seededRandom } from '../src/random.js';
import { behaviors, openReceiver, type Receiver } from '../src/receivers.js';

const secret = 'secret-of-the-receivers';
const nowMs = Date.parse('2026-11-15T04:17:25.400Z');
const opened: Receiver[] = [];
afterAll(() => Promise.all(opened.map((receiver) => receiver.close())));

async function open(name: string): Promise<{ receiver: Receiver; figures: Figures }> {
  const figures = new Figures(behaviors);
  const behavior = behaviors.find((one) => one.name === name)!;
  const receiver = await openReceiver({
    behavior,
    secret,
    attemptsMax: 5,
    random: seededRandom(1),
    now: () => nowMs,
    figures,
  });
  opened.push(receiver);
  return { receiver, figures };
}

function send(
  receiver: Receiver,
  { type = 'invoice.paid', attempt = 1, key = secret } = {},
): Promise<number | 'hung up'> {
  const body = JSON.stringify({ id: 'EVT-1', type, created_at: '2026-11-15T04:17:25.363Z', data: {} });
  const headers = { ...sign(body, { id: 'EVT-1', timestamp: new Date(), key }) };
  return fetch(receiver.url, {
    method: 'POST',
    headers: { ...headers, 'X-Service-Attempt': String(attempt) },
    body,
  }).then(
    ({ status }) => status,
    () => 'hung up',
  );
}

describe('receivers', () => {
  test('a receiver that checks signatures refuses a forgery', async () => {
    const { receiver, figures } = await open('verifying');
    expect(await send(receiver)).toBe(200);
    expect(await send(receiver, { key: 'a-guess-at-the-secret' })).toBe(401);
    expect(figures.receiver('verifying')).toMatchObject({ delivered: 1 });
  });

  test.each(behaviors.map(({ name }) => name))(
    '%s responds to a verification, so that its webhook is active',
    async (name) => {
      const { receiver, figures } = await open(name);
      expect(await send(receiver, { type: 'webhook.verification' })).toBe(200);
      expect(figures.receiver(name)).toMatchObject({ delivered: 0 });
    },
  );

  test('measure the time from recording an event to its arrival', async () => {
    const { receiver, figures } = await open('healthy');
    const arrived = vi.spyOn(figures, 'deliveryArrived');
    expect(await send(receiver, { attempt: 2 })).toBe(200);
    expect(arrived).toHaveBeenCalledExactlyOnceWith('healthy', 2, 37);
  });

  test('the dead one never responds to a delivery', async () => {
    const { receiver, figures } = await open('dead');
    expect(await send(receiver)).toBe('hung up');
    expect(figures.receiver('dead')).toMatchObject({ delivered: 0 });
  });

  test('the flaky one fails sometimes, and counts exactly its 2xx responses as accepted', async () => {
    const { receiver, figures } = await open('flaky');
    const statuses = await Promise.all(Array.from({ length: 60 }, () => send(receiver)));
    const accepted = statuses.filter((status) => status === 200).length;
    expect(accepted).toBeGreaterThan(20);
    expect(accepted).toBeLessThan(60);
    expect(figures.receiver('flaky').delivered).toBe(accepted);
  });
});
