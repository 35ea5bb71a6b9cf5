import { describe, expect, test } from 'vitest';
import { Bell } from '../../src/signals/bell.js';

const never = new AbortController().signal;
const longMs = 600_000;

describe('a bell', () => {
  test('wakes those who listen for somebody it is rung for, and nobody else', async () => {
    const bell = new Bell();
    const [acme, other] = [bell.listenFor('ORG-acme'), bell.listenFor('ORG-other')];
    let woke = false;
    const leave = new AbortController();
    const slept = other.wait(longMs, leave.signal).then(() => {
      woke = true;
    });
    const woken = acme.wait(longMs, never);
    bell.ring(new Set(['ORG-acme', 'ORG-third']));
    await woken;
    expect(woke).toBe(false);
    leave.abort();
    await slept;
  });

  test('is heard by one who looked away while it rang, once', async () => {
    const bell = new Bell();
    const ear = bell.listenFor('ORG-acme');
    bell.ring(['ORG-acme']);
    await ear.wait(longMs, never);
    let woke = false;
    const leave = new AbortController();
    const waiting = ear.wait(longMs, leave.signal).then(() => {
      woke = true;
    });
    await new Promise(setImmediate);
    expect(woke).toBe(false);
    leave.abort();
    await waiting;
  });

  test('wakes at the latest when the time is over', async () => {
    const ear = new Bell().listenFor('ORG-acme');
    await expect(ear.wait(1, never)).resolves.toBeUndefined();
  });

  test('does not keep those who no longer listen', async () => {
    const bell = new Bell();
    const ear = bell.listenFor('ORG-acme');
    ear.close();
    bell.ring(['ORG-acme']);
    const leave = new AbortController();
    const waiting = ear.wait(longMs, leave.signal);
    leave.abort();
    await expect(waiting).resolves.toBeUndefined();
  });
});
