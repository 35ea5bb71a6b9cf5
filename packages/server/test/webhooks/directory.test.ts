import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import type { Database } from '../../src/postgres/database.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { WebhookDirectory } from '../../src/webhooks/directory.js';
import type { Webhook } from '../../src/webhooks/webhook.js';
import { noSettings } from '../support/deliveries.js';
import { endSharedService } from '../support/service.js';

await endSharedService();

const secrets = new SecretBox([randomBytes(32)]);

function webhook(id: string, fields: Partial<Webhook> = {}): Webhook {
  return {
    id,
    organization_id: 'ORG-acme',
    workspace_id: null,
    url: 'https://receiver.test/',
    ...{ ...noSettings, format_changed_at: null },
    status: 'active',
    event_types: ['*'],
    created_at: new Date(0),
    destination_changed_at: null,
    last_delivery_at: null,
    last_delivery_status: null,
    failing_since: null,
    verification_failure: null,
    secret: secrets.seal('a secret of sixteen', id),
    previous_secret: null,
    previous_secret_until: null,
    secret_rotated_at: null,
    revision: 1,
    ...fields,
  };
}

type FinishLookUp = (...rows: Webhook[]) => void;

/** A directory, and each of its look-ups once it has begun, to be finished by hand. */
function openDirectory() {
  const begun: FinishLookUp[] = [];
  let heard: () => void = () => undefined;
  const database = {
    query: () =>
      new Promise((resolve) => {
        begun.push((...rows) => resolve({ rows, rowCount: rows.length }));
        heard();
      }),
  };
  return {
    directory: new WebhookDirectory(database as unknown as Database, secrets, limits),
    nextLookUp: async (): Promise<FinishLookUp> => {
      while (begun.length === 0) {
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
      return begun.shift()!;
    },
  };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('what a node knows about a webhook', () => {
  test('is that nothing may be sent only if the database says so, not if the response was late', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { directory, nextLookUp } = openDirectory();
    const late = directory.get('ORG-acme', 'WHK-1');
    const finishLate = await nextLookUp();
    vi.advanceTimersByTime(1_500);
    finishLate(webhook('WHK-1'));
    expect(await late).toBeUndefined();

    const inTime = directory.get('ORG-acme', 'WHK-1');
    (await nextLookUp())(webhook('WHK-1'));
    expect(await inTime).toMatchObject({ kind: 'active' });

    const idle = ['WHK-2', 'WHK-3', 'WHK-4'].map((id) => directory.get('ORG-acme', id));
    (await nextLookUp())(
      webhook('WHK-3', { status: 'disabled', disabled_reason: 'manual' }),
      webhook('WHK-4', { status: 'unverified' }),
    );
    for (const state of idle) expect(await state).toEqual({ kind: 'inactive', target: undefined });
  });

  test('is the same for concurrent callers that share a read', async () => {
    const { directory, nextLookUp } = openDirectory();
    const first = directory.get('ORG-acme', 'WHK-0');
    const finishFirst = await nextLookUp();
    const later = ['WHK-1', 'WHK-2', 'WHK-3', 'WHK-1'].map((id) => directory.get('ORG-acme', id));
    finishFirst(webhook('WHK-0'));
    await first;
    (await nextLookUp())(webhook('WHK-1'), webhook('WHK-2'), webhook('WHK-3'));
    for (const state of later) expect(await state).toMatchObject({ kind: 'active' });
  });

  test('counts as sealed while it is used and no key decrypts its secret', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { directory, nextLookUp } = openDirectory();
    const secret = new SecretBox([randomBytes(32)]).seal('a secret of sixteen', 'WHK-1');
    const use = async (id: string, fields: Parameters<typeof webhook>[1] = {}) => {
      const used = directory.get('ORG-acme', id);
      (await nextLookUp())(webhook(id, fields));
      await used;
    };
    await use('WHK-1', { secret });
    await use('WHK-2', { secret });
    await use('WHK-3');
    expect(directory.countSealed()).toBe(2);
    vi.advanceTimersByTime(5_000);
    await use('WHK-1', { secret });
    await use('WHK-2');
    expect(directory.countSealed()).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(directory.countSealed()).toBe(0);
  });

  test('is updated after a sealed secret was encrypted again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { directory, nextLookUp } = openDirectory();
    const lost = new SecretBox([randomBytes(32)]).seal('a secret of sixteen', 'WHK-1');
    const before = directory.get('ORG-acme', 'WHK-1');
    (await nextLookUp())(webhook('WHK-1', { secret: lost }));
    expect(await before).toMatchObject({ kind: 'sealed' });
    vi.advanceTimersByTime(1_500);
    const after = directory.get('ORG-acme', 'WHK-1');
    (await nextLookUp())(webhook('WHK-1'));
    expect(await after).toMatchObject({ kind: 'active' });
  });

  test('is used for a second and no longer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { directory, nextLookUp } = openDirectory();
    const first = directory.get('ORG-acme', 'WHK-1');
    (await nextLookUp())(webhook('WHK-1'));
    await first;
    vi.advanceTimersByTime(999);
    expect(directory.peek('WHK-1')).toMatchObject({ kind: 'active' });
    vi.advanceTimersByTime(1);
    expect(directory.peek('WHK-1')).toBeUndefined();
  });

  test('is as fresh as a recording that matched the active webhook in the same revision', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { directory, nextLookUp } = openDirectory();
    const all = ['WHK-1', 'WHK-2', 'WHK-3'].map((id) => directory.get('ORG-acme', id));
    (await nextLookUp())(
      webhook('WHK-1'),
      webhook('WHK-2'),
      webhook('WHK-3', { status: 'disabled', disabled_reason: 'manual' }),
    );
    await Promise.all(all);
    vi.advanceTimersByTime(900);
    const askedAtMs = performance.now();
    const matched = (webhook_id: string, revision: number) => ({ webhook_id, revision, has_backlog: false });
    directory.confirm([matched('WHK-1', 1), matched('WHK-2', 2), matched('WHK-3', 1)], askedAtMs);
    expect(directory.peek('WHK-2')).toBeUndefined();
    vi.advanceTimersByTime(900);
    expect(directory.peek('WHK-1')).toMatchObject({ kind: 'active' });
    expect(directory.peek('WHK-2')).toBeUndefined();
    expect(directory.peek('WHK-3')).toBeUndefined();
    vi.advanceTimersByTime(100);
    expect(directory.peek('WHK-1')).toBeUndefined();
  });

  test('is read again before it is too old, for all webhooks in use together', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { directory, nextLookUp } = openDirectory();
    const inUse = ['WHK-1', 'WHK-2'].map((id) => ({ organization_id: 'ORG-acme', id }));
    const known = Promise.all(inUse.map(({ id }) => directory.get('ORG-acme', id)));
    (await nextLookUp())(webhook('WHK-1'), webhook('WHK-2'));
    await known;
    // Fresh enough: nothing is looked up.
    await directory.refresh(inUse);
    vi.advanceTimersByTime(600);
    const refreshed = directory.refresh(inUse);
    (await nextLookUp())(webhook('WHK-1'), webhook('WHK-2', { revision: 2, url: 'https://new.test/' }));
    await refreshed;
    vi.advanceTimersByTime(900);
    expect(directory.peek('WHK-1')).toMatchObject({ kind: 'active' });
    expect(directory.peek('WHK-2')?.target?.url.href).toBe('https://new.test/');
  });

  test('never comes from a read that began before the webhook was deleted here', async () => {
    const { directory, nextLookUp } = openDirectory();
    const reading = directory.get('ORG-acme', 'WHK-1');
    const finish = await nextLookUp();
    directory.forget('WHK-1');
    finish(webhook('WHK-1'));
    expect(await reading).toBeUndefined();
    expect(directory.peek('WHK-1')).toBeUndefined();
  });

  test('is available for the others if one webhook has a secret that cannot be opened', async () => {
    const { directory, nextLookUp } = openDirectory();
    const both = Promise.all(['WHK-1', 'WHK-2'].map((id) => directory.get('ORG-acme', id)));
    const secret = new SecretBox([randomBytes(32)]).seal('a secret of sixteen', 'WHK-1');
    (await nextLookUp())(webhook('WHK-1', { secret }), webhook('WHK-2'));
    expect((await both).map((state) => state?.kind)).toEqual(['sealed', 'active']);
  });
});
