import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Refusal, Verification } from '@posthorn/receiver';
import { readRequest, type SavedRequest, signatures, verdictOf } from '@posthorn/receiver/verdict';
import { type Command, CommandFailure, type Context, invalid, UsageError } from '../command.js';
import { givenSecret } from '../listen-state.js';
import { json, oneOf } from '../listing.js';

const oneSignature = oneOf(...signatures);

export const verifyCommand: Command = {
  name: 'verify',
  summary: 'Check the signatures of a saved request. If one is not valid, show why.',
  options: {
    secret: {
      value: 'secret',
      description: 'The secret of the webhook. Environment: POSTHORN_WEBHOOK_SECRET.',
    },
    request: {
      value: 'file',
      description:
        'File that contains a request: its headers, an empty line and the body, as saved by posthorn listen --save. Default: standard input.',
    },
    tolerance: {
      field: 'tolerance',
      value: 'seconds',
      fallback: '300',
      read: secondsOf,
      description: 'How much the time of the request may differ from the current time, in either direction.',
    },
    'any-age': { description: 'Accept a request of any age. Saved requests are usually old.' },
    signature: {
      field: 'signature',
      value: oneSignature.value,
      read: (text, option) => oneSignature.read(text.toLowerCase(), option),
      description:
        'Check only this signature, like a receiver that verifies only one. Default: both must be valid.',
    },
    json,
  },
  run: async (context) => {
    const { options, env, terminal, fields } = context;
    const secret = givenSecret(options, env);
    if (secret === undefined)
      throw new UsageError('posthorn verify requires --secret. You can also set POSTHORN_WEBHOOK_SECRET.');
    const saved = await requestIn(context);
    const { partial, ...verdict } = verdictOf(saved, secret, {
      signature: fields.signature,
      toleranceSeconds: options['any-age'] ? undefined : fields.tolerance,
    });
    if (options.json) terminal.line(JSON.stringify(verdict));
    else if (verdict.ok) terminal.line(acceptedText(verdict, saved));
    if (!verdict.ok)
      throw new CommandFailure(
        `Not verified (${verdict.reason}): ${verdict.detail} ${partial ? completeNext : next[verdict.reason]}`,
      );
  },
};

async function requestIn({ options, input }: Context): Promise<SavedRequest> {
  const bytes =
    options.request === undefined
      ? await buffer(input)
      : await readFile(options.request).catch((error: Error) => {
          throw new CommandFailure(
            `Cannot read --request ${options.request}: ${error.message}. Check the path.`,
          );
        });
  const request = readRequest(bytes);
  if (request) return request;
  throw new CommandFailure(
    'This is not a request: expected headers, an empty line and the body. ' +
      'Run posthorn listen --save DIR to get requests in this form.',
  );
}

function secondsOf(text: string, option: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw invalid(option, text, 'a whole number of seconds');
}

function acceptedText({ signedAt }: Extract<Verification, { ok: true }>, { headers }: SavedRequest): string {
  const id = headers['webhook-id'] ?? 'the request';
  if (signedAt) return `Verified: ${id} was signed with this secret at ${signedAt.toISOString()}.`;
  return `Verified: ${id} was signed with this secret. X-Service-Signature does not cover the time when the request was sent.`;
}

const resend =
  'Save the request as it arrives, before any parser reads it; posthorn listen --save does this.';
const compare =
  'Compare the body with request.body in the output of posthorn deliveries get --json. If they are the same, the ' +
  'secret is wrong. If they differ, the body was changed: save the request as it arrives, before any parser reads it.';

const completeNext =
  'Posthorn always sends both: check that no proxy removes or changes headers. To check only the one that your ' +
  'receiver verifies, use --signature.';

/** What to do about each reason. */
const next: Record<Refusal, string> = {
  no_secret: 'Pass the secret of the webhook with --secret.',
  malformed_secret: 'Correct --secret, and the configuration of the receiver.',
  body_not_raw: resend,
  missing_signature: `Check that no proxy removes headers. ${resend}`,
  missing_timestamp: `Check that no proxy removes headers. ${resend}`,
  malformed_timestamp: 'Check that no proxy changes headers.',
  malformed_signature: 'Check that no proxy changes headers.',
  signature_mismatch: compare,
  timestamp_too_old: 'The signature itself is valid. Use --any-age to accept old requests.',
  timestamp_in_future:
    'The signature itself is valid. Also check the clock on the machine that signed the request.',
};
