import { randomBytes } from 'node:crypto';
import type { EnvelopeData, EnvelopeOf } from './envelope.js';
import { eventSamples } from './event-samples.js';
import { sign } from './signing.js';

export interface SignedRequestOptions<Type extends keyof EnvelopeData> {
  secret: string;
  /** Replaces fields of the catalogue's sample. */
  data?: Partial<EnvelopeData[Type]> | undefined;
  /** Replaces other fields of the envelope, such as `id` or `workspace_id`. */
  envelope?: Partial<Omit<EnvelopeOf<Type>, 'type' | 'data'>> | undefined;
  /** Also signs with this secret, as during the grace period after a rotation. */
  previous?: string | undefined;
  /** Time of sending. Default: now. */
  sentAt?: Date | undefined;
  /** What is wrong with the request. A receiver must refuse it. */
  fault?: 'expired' | 'wrong_secret' | 'tampered' | 'unsigned' | undefined;
}

/** A request as the service would send it. It can be the second argument of `fetch` or `new Request`. */
export interface SignedRequest<Type extends keyof EnvelopeData = keyof EnvelopeData> {
  method: 'POST';
  headers: Record<string, string>;
  body: string;
  /** The event that was signed. */
  event: EnvelopeOf<Type>;
}

/** The event types of the catalogue, for which `signedRequest` has a sample. */
export const sampleTypes: readonly string[] = Object.keys(eventSamples);

/** Returns a signed request with the catalogue's sample of this type, for the tests of a receiver. */
export function signedRequest<Type extends keyof EnvelopeData>(
  type: Type,
  { secret, data, envelope, previous, sentAt = new Date(), fault }: SignedRequestOptions<Type>,
): SignedRequest<Type> {
  const samples: Partial<Record<string, object>> = { ...eventSamples, 'webhook.verification': challenge };
  const event = {
    id: newId('EVT'),
    type,
    created_at: sentAt.toISOString(),
    organization_id: 'ORG-test',
    workspace_id: null,
    ...envelope,
    data: { ...samples[type], ...data },
  } as unknown as EnvelopeOf<Type>;
  const body = JSON.stringify(event);
  const signatures = sign(body, {
    id: event.id,
    timestamp: fault === 'expired' ? new Date(sentAt.getTime() - 3_600_000) : sentAt,
    key: fault === 'wrong_secret' ? `not-${secret}` : secret,
    previous,
  });
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Posthorn/test',
    ...(type !== 'webhook.verification' && {
      'x-service-delivery': newId('WDLV'),
      'x-service-attempt': '1',
    }),
    ...(fault !== 'unsigned' && signatures),
  };
  const sent = fault === 'tampered' ? `${body.slice(0, -1)},"tampered":true}` : body;
  return { method: 'POST', headers, body: sent, event };
}

/** Returns the same request as a Web `Request` to this URL. */
export function signedWebRequest<Type extends keyof EnvelopeData>(
  url: string | URL,
  type: Type,
  options: SignedRequestOptions<Type>,
): Request {
  const { method, headers, body } = signedRequest(type, options);
  return new Request(url, { method, headers, body });
}

const challenge: EnvelopeData['webhook.verification'] = {
  webhook_id: 'WHK-01K1QPB4D6F8H0K2M4P6R8T0V2',
  challenge: 'QER0dOn7ujfqFkRSVdcrpFOmdLR0cJ39',
};

function newId(prefix: string): string {
  return `${prefix}-${randomBytes(13).toString('hex').toUpperCase()}`;
}
