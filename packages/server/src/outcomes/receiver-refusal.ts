import type { Refusal } from '@posthorn/receiver';
import { wordsOf } from './response-words.js';

const checkSecretAndBody =
  'Check that it uses the secret of this webhook and verifies the raw body: a body that was parsed and serialized again does not match.';

const correctClock = 'Correct the clock of the machine that the receiver runs on.';
const keepHeaders =
  'Check that no proxy in front of the receiver removes or changes webhook-id, webhook-timestamp or webhook-signature.';

/** What to do about each reason for which @posthorn/receiver refuses a request. */
const remedies: Record<Refusal, string> = {
  no_secret: 'Set the secret of this webhook in the configuration of the receiver.',
  malformed_secret:
    'Correct the secret in the configuration of the receiver: it must be exactly the secret of this webhook.',
  body_not_raw:
    'Give the receiver the raw body, byte for byte as it arrived: no middleware may parse it first, and no proxy may change it.',
  missing_signature: keepHeaders,
  missing_timestamp: keepHeaders,
  malformed_timestamp: keepHeaders,
  malformed_signature: keepHeaders,
  signature_mismatch: checkSecretAndBody,
  timestamp_too_old: `${correctClock} If requests wait in a queue first, verify them when they arrive.`,
  timestamp_in_future: correctClock,
};

/** Returns what to do if a receiver refuses a request with this status and gives no known reason. */
export function accessRemedy(status: 401 | 403): string {
  return status === 401
    ? checkSecretAndBody
    : `${checkSecretAndBody} If a login check, a CSRF check or a firewall refused the request, exempt this path from it.`;
}

/** Returns what to do about a response from @posthorn/receiver, which starts with the reason and a colon. */
export function refusalRemedy(response: string | null): string | undefined {
  const [, reason = ''] = /^([a-z_]+): /.exec(wordsOf(response).text) ?? [];
  return Object.hasOwn(remedies, reason) ? remedies[reason as Refusal] : undefined;
}
