/**
 * The few functions of `node:crypto` and `Buffer` that `verify` of @posthorn/receiver uses, for the browser: its build
 * replaces `node:crypto` with this file. Web Crypto computes digests only later, and only in secure contexts.
 */

type Bytes = Uint8Array;

const encode = (text: string): Bytes => new TextEncoder().encode(text);
const fromBase64 = (text: string): Bytes =>
  Uint8Array.from(atob(text.replace(/=+$/, '')), (letter) => letter.charCodeAt(0));
const toBase64 = (bytes: Bytes) => btoa(String.fromCharCode(...bytes));
const toHex = (bytes: Bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Returns the first 32 bits of the fractional parts of roots of the first primes, of which SHA-256 consists. */
function fractionsOfRoots(count: number, root: number): Uint32Array {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime)) primes.push(number);
  return Uint32Array.from(primes, (prime) => (prime ** (1 / root) % 1) * 2 ** 32);
}

const constants = fractionsOfRoots(64, 3);
const initial = fractionsOfRoots(8, 2);
const blockBytes = 64;

function sha256(message: Bytes): Bytes {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / blockBytes) * blockBytes);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, message.length / 2 ** 29);
  view.setUint32(padded.length - 4, message.length << 3);
  const hash = initial.slice();
  const words = new Uint32Array(64);
  const turn = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));
  for (let at = 0; at < padded.length; at += blockBytes) {
    for (let n = 0; n < 64; n += 1) {
      if (n < 16) words[n] = view.getUint32(at + n * 4);
      else {
        const [early, late] = [words[n - 15]!, words[n - 2]!];
        const mixed = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
        words[n] = words[n - 16]! + mixed + words[n - 7]! + (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10));
      }
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
    for (let n = 0; n < 64; n += 1) {
      const one =
        (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + constants[n]! + words[n]!) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, n) => {
      hash[n] = hash[n]! + word;
    });
  }
  const digest = new DataView(new ArrayBuffer(32));
  hash.forEach((word, n) => {
    digest.setUint32(n * 4, word);
  });
  return new Uint8Array(digest.buffer);
}

export function createSecretKey(text: string, encoding: 'utf8' | 'base64'): Bytes {
  return encoding === 'utf8' ? encode(text) : fromBase64(text);
}

/** HMAC with SHA-256. */
export function createHmac(_algorithm: 'sha256', key: Bytes) {
  const block = new Uint8Array(blockBytes);
  block.set(key.length > blockBytes ? sha256(key) : key);
  const hashed = (mask: number, message: Bytes) =>
    sha256(Uint8Array.from([...block.map((byte) => byte ^ mask), ...message]));
  let message: Bytes = new Uint8Array();
  const hmac = {
    update(part: string | Bytes) {
      message = Uint8Array.from([...message, ...(typeof part === 'string' ? encode(part) : part)]);
      return hmac;
    },
    digest(encoding: 'hex' | 'base64') {
      const digest = hashed(0x5c, hashed(0x36, message));
      return encoding === 'hex' ? toHex(digest) : toBase64(digest);
    },
  };
  return hmac;
}

/** On the user's own machine, nobody measures how long it takes. */
export function timingSafeEqual(one: Bytes, other: Bytes): boolean {
  return toHex(one) === toHex(other);
}

const buffer = {
  from: encode,
  byteLength: (text: string | Bytes) => (typeof text === 'string' ? encode(text) : text).length,
};
// In a test, Node has its own.
if (!('Buffer' in globalThis)) Object.assign(globalThis, { Buffer: buffer });
