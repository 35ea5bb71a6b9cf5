import { describe, expect, test } from 'vitest';
import { Notifier } from '../../src/signals/notifier.js';

const never = new AbortController().signal;
const longMs = 600_000;

describe('a notifier', () => {
  test('wakes the subscribers of a key, and no others', async () => {
    const notifier = new Notifier();
    const [acme, other] = [notifier.subscribe('ORG-acme'), notifier.subscribe('ORG-other')];
    let woke = false;
    const leave = new AbortController();
    const slept = other.wait(longMs, leave.signal).then(() => {
      woke = true;
    });
    const woken = acme.wait(longMs, never);
    notifier.notify(new Set(['ORG-acme', 'ORG-third']));
    await woken;
    expect(woke).toBe(false);
    leave.abort();
    await slept;
  });

  test('wakes a subscriber that was busy during the notification, once', async () => {
    const notifier = new Notifier();
    const subscription = notifier.subscribe('ORG-acme');
    notifier.notify(['ORG-acme']);
    await subscription.wait(longMs, never);
    let woke = false;
    const leave = new AbortController();
    const waiting = subscription.wait(longMs, leave.signal).then(() => {
      woke = true;
    });
    await new Promise(setImmediate);
    expect(woke).toBe(false);
    leave.abort();
    await waiting;
  });

  test('wakes at the latest after the timeout', async () => {
    const subscription = new Notifier().subscribe('ORG-acme');
    await expect(subscription.wait(1, never)).resolves.toBeUndefined();
  });

  test('does not keep closed subscriptions', async () => {
    const notifier = new Notifier();
    const subscription = notifier.subscribe('ORG-acme');
    subscription.close();
    notifier.notify(['ORG-acme']);
    const leave = new AbortController();
    const waiting = subscription.wait(longMs, leave.signal);
    leave.abort();
    await expect(waiting).resolves.toBeUndefined();
  });
});
