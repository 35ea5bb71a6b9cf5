import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const version = 1;
const keyIdLength = 4;
const ivLength = 12;
const tagLength = 16;

/** Reports that no key matches. The operator must restore the key or rotate the webhook's secret. */
export class SecretNotDecrypted extends Error {
  override name = 'SecretNotDecrypted';

  constructor() {
    super('a webhook secret was encrypted with a key that POSTHORN_SECRET_KEY no longer contains');
  }
}

/**
 * Encrypts secrets at rest. It encrypts with the first key and decrypts with any key, so keys can be rotated without
 * downtime. The owner is bound as associated data, so a secret that is copied to another row cannot be decrypted.
 */
export class SecretBox {
  readonly #keys: readonly { id: Buffer; key: Buffer }[];

  constructor(keys: readonly Buffer[]) {
    if (keys.length === 0) throw new Error('a secret box needs at least one key');
    this.#keys = keys.map((key) => ({
      id: createHash('sha256').update(key).digest().subarray(0, keyIdLength),
      key,
    }));
  }

  /** Returns the first bytes of everything that `seal` returns: the version and the ID of the first key. */
  get prefix(): Buffer {
    return this.prefixes[0]!;
  }

  /** Returns one prefix for each key: the first bytes of everything that `open` can decrypt with that key. */
  get prefixes(): Buffer[] {
    return this.#keys.map(({ id }) => Buffer.concat([Buffer.from([version]), id]));
  }

  /** Returns a keyed hash of a text for each key, in the order of the keys. Only a holder of the key can compute it. */
  fingerprints(text: string): Buffer[] {
    return this.#keys.map(({ key }) => {
      const derived = createHmac('sha256', key).update('fingerprint').digest();
      return createHmac('sha256', derived).update(text).digest();
    });
  }

  seal(secret: string, owner: string): Buffer {
    const first = this.#keys[0]!;
    const iv = randomBytes(ivLength);
    const encrypt = createCipheriv(cipher, first.key, iv).setAAD(Buffer.from(owner));
    const text = Buffer.concat([encrypt.update(secret, 'utf8'), encrypt.final()]);
    return Buffer.concat([this.prefix, iv, encrypt.getAuthTag(), text]);
  }

  /** Decrypts a secret. Throws if no key matches or if the data was changed. */
  open(sealed: Buffer, owner: string): string {
    const keyId = sealed.subarray(1, 1 + keyIdLength);
    const known = this.#keys.find(({ id }) => id.equals(keyId));
    if (sealed[0] !== version || !known) {
      throw new SecretNotDecrypted();
    }
    const iv = sealed.subarray(5, 5 + ivLength);
    const tag = sealed.subarray(5 + ivLength, 5 + ivLength + tagLength);
    const decrypt = createDecipheriv(cipher, known.key, iv).setAAD(Buffer.from(owner)).setAuthTag(tag);
    const text = sealed.subarray(5 + ivLength + tagLength);
    return Buffer.concat([decrypt.update(text), decrypt.final()]).toString('utf8');
  }
}
