import { randomBytes } from 'node:crypto';

/** Returns a signing secret in the format of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
