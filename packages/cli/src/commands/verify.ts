import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type Refusal, type Verification, verify } from '@posthorn/receiver';
import { type Command, CommandFailure, type Context, UsageError } from '../command.js';
import { givenSecret } from '../listen-state.js';
import { choiceOf, json } from '../listing.js';
import { readRequest, type SavedRequest } from '../saved-request.js';

/** The headers with the two signatures that Posthorn sends. */
const signatures = ['x-service-signature', 'webhook-signature'] as const;
type Signature = (typeof signatures)[number];
const anyAge = Number.MAX_SAFE_INTEGER;

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
      value: 'seconds',
      description: 'How much the time of the request may differ from the current time, in either direction.',
      fallback: '300',
    },
    'any-age': { description: 'Accept a request of any age. Saved requests are usually old.' },
    signature: {
      value: signatures.join('|'),
      description:
        'Check only this signature, like a receiver that verifies only one. Default: both must be valid.',
    },
    json,
  },
  run: async (context) => {
    const { options, env, terminal } = context;
    const secret = givenSecret(options, env);
    if (secret === undefined)
      throw new UsageError('posthorn verify requires --secret. You can also set POSTHORN_WEBHOOK_SECRET.');
    const only = choiceOf({ signature: options.signature?.toLowerCase() }, 'signature', signatures);
    const saved = await requestIn(context);
    const request = only === undefined ? saved : { ...saved, headers: headersWith(only, saved) };
    const toleranceSeconds = options['any-age'] ? anyAge : secondsOf(options.tolerance ?? '300');
    const incomplete = only === undefined ? incompleteIn(saved, secret) : undefined;
    const verification = incomplete ?? verify(request.body, request.headers, secret, { toleranceSeconds });
    const verdict = verification.ok || incomplete ? verification : explained(verification, request, secret);
    if (options.json) terminal.line(JSON.stringify(verdict));
    else if (verdict.ok) terminal.line(acceptedText(verdict, saved));
    if (!verdict.ok)
      throw new CommandFailure(
        `Not verified (${verdict.reason}): ${verdict.detail} ${incomplete ? completeNext : next[verdict.reason]}`,
      );
  },
};

type Refused = Extract<Verification, { ok: false }>;

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

function secondsOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--tolerance: '${text}' is not valid. Expected a whole number of seconds.`);
}

/** Returns the headers without those that only the other signature needs. */
function headersWith(signature: Signature, { headers }: SavedRequest): SavedRequest['headers'] {
  const others = signature === 'webhook-signature' ? 'x-service-signature' : 'webhook-';
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(others)));
}

/**
 * Returns why the request is refused if only one of its signatures is valid. Posthorn sends both, so something changed
 * the request, and a receiver that checks the other signature refuses it.
 */
function incompleteIn(request: SavedRequest, secret: string): Refused | undefined {
  const checks = signatures.map((signature) => ({
    signature,
    result: verify(request.body, headersWith(signature, request), secret, { toleranceSeconds: anyAge }),
  }));
  const valid = checks.find(({ result }) => result.ok);
  const invalid = checks.find(({ result }) => !result.ok);
  if (!valid || !invalid || invalid.result.ok) return undefined;
  const { reason, detail } = faultOf(invalid.signature, invalid.result);
  const which = `${titles[valid.signature]} is valid, but ${titles[invalid.signature]} is not.`;
  return { ok: false, reason, detail: `${which} ${detail}` };
}

/** Returns what is wrong with a signature. The other one is valid, so neither the body nor the secret is wrong. */
function faultOf(signature: Signature, { reason, detail }: Refused): Pick<Refused, 'reason' | 'detail'> {
  const isService = signature === 'x-service-signature';
  if (reason === 'missing_signature' && isService)
    return { reason, detail: 'The request has no X-Service-Signature header.' };
  if (['missing_signature', 'malformed_signature', 'malformed_timestamp'].includes(reason))
    return { reason, detail };
  const signed = isService ? 'the body' : 'webhook-id, webhook-timestamp and the body';
  return { reason: 'signature_mismatch', detail: `It does not match ${signed}.` };
}

const titles: Record<Signature, string> = {
  'x-service-signature': 'X-Service-Signature',
  'webhook-signature': 'webhook-signature',
};

/** Explains why no signature matches: how the body was changed, or else that the secret or the body can be wrong. */
function explained(refused: Refused, { body, headers }: SavedRequest, secret: string): Refused {
  if (refused.reason !== 'signature_mismatch' && refused.reason !== 'body_not_raw') return refused;
  const { 'content-length': declared, ...others } = headers;
  const check = (other: Buffer) => verify(other, others, secret, { toleranceSeconds: anyAge });
  const [, change] = beforeChanges(body).find(([other]) => check(other).ok) ?? [];
  if (change !== undefined) return { ok: false, reason: 'body_not_raw', detail: change };
  const again = check(body);
  if (!again.ok && again.reason === 'body_not_raw') return again;
  if (declared !== undefined && Number(declared) !== body.length) return refused;
  return { ...refused, detail: secretOrBody };
}

/** Returns what the body may have been before a tool or a proxy changed it, and each change in a sentence. */
function beforeChanges(body: Buffer): [Buffer, string][] {
  const text = body.toString('latin1');
  const bytes = (other: string) => Buffer.from(other, 'latin1');
  return [
    [bytes(text.replace(/\s+$/, '')), 'White space was added at the end of the body.'],
    [bytes(`${text}\n`), 'A line break at the end of the body was removed.'],
    [bytes(text.replaceAll('\r\n', '\n')), 'The line breaks in the body were changed to CRLF.'],
    [bytes(text.replaceAll(/\r?\n/g, '\r\n')), 'The line breaks in the body were changed to LF.'],
    [bytes(text.replace(/^\u00ef\u00bb\u00bf/, '')), 'A byte order mark was added at the start of the body.'],
  ];
}

const secretOrBody =
  "Either the secret is not the webhook's secret, or the body was changed in transit, for example parsed and " +
  'serialized again by a proxy or a framework.';

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
