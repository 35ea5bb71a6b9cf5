import type { Catalogue } from '../catalogue/catalogue.js';
import { durationText } from '../values/duration.js';
import type { Tag } from '../web/api-document.js';
import { table } from '../web/markdown.js';
import { verifySnippets } from './verify-snippets.js';
import { deliveryHeaders, envelopeExample } from './webhooks-section.js';

/** How this service is configured to deliver. */
export interface DeliveryRules {
  retryScheduleMs: readonly number[];
  timeoutMs: number;
}

/** Returns the guides for people who write a receiver. */
export function receivingGuides(catalogue: Catalogue, rules: DeliveryRules): readonly Tag[] {
  return [
    { name: 'Receive webhooks', description: receiving(catalogue) },
    { name: 'Verify signatures', description: verifying },
    { name: 'Responses and retries', description: retries(rules) },
  ];
}

const receiving = (catalogue: Catalogue) => {
  const [sample] = catalogue.list();
  return `For each event that a webhook subscribes to, the service sends a \`POST\` request to its URL. Your receiver must do four things:

1. Verify the signature over the **raw bytes** of the body. Return 401 if it is not valid.
2. Return a 2xx status within 3 seconds. Do slow work later. The service waits longer for a response, but a slow receiver falls behind.
3. Ignore duplicates. The same event can arrive more than once, always with the same \`id\`.
4. Accept events in any order. To sort them, use \`created_at\` and \`id\`.

### Body

\`\`\`json
${JSON.stringify(envelopeExample(sample?.type ?? '', sample?.sample), null, 2)}
\`\`\`

\`data\` is the \`payload\` of the event and depends on the event type. \`workspace_id\` is null if the event concerns the whole organization. Test events also have \`"test": true\`. The body is the same on every attempt.

### Headers

${table(
  ['Header', 'Value'],
  [
    ['`Content-Type`', '`application/json`'],
    ...deliveryHeaders.map(({ name, description }) => [`\`${name}\``, description]),
  ],
)}

### Verification request

When you create a webhook, change its URL, or activate it again, the service first sends a signed request of the type \`webhook.verification\`. Return status 200 within 5 seconds. You do not have to return the \`challenge\` from the body. If the verification fails, the webhook is \`unverified\` and receives no events until a later verification succeeds.

Your receiver needs the secret to verify this request, so choose the secret yourself when you create the webhook.

The service formats this body in an unusual way. A receiver that parses the body and verifies a re-serialized copy therefore fails here, not later. Verify the bytes as they arrive.

\`\`\`json
${JSON.stringify(envelopeExample('webhook.verification', challenge), null, 2)}
\`\`\``;
};

const challenge = {
  webhook_id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
  challenge: 'QER0dOn7ujfqFkRSVdcrpFOmdLR0cJ39',
};

const verifying = `Every request has two signatures. Verify \`webhook-signature\`: it also covers the time when the request was sent, so you can reject old requests. \`X-Service-Signature\` covers only the body.

| Signature | Key |
| --- | --- |
| \`webhook-signature\` | The key is the part of the secret after \`whsec_\`, decoded from base64. If the secret does not start with \`whsec_\`, the key is the secret as UTF-8. |
| \`X-Service-Signature\` | The key is the whole secret as UTF-8. |

After you rotate a secret, the old one stays valid for a grace period. During that time, \`webhook-signature\` contains two signatures, separated by a space. Accept the request if one of them matches.

You can also use the [Standard Webhooks](https://www.standardwebhooks.com) libraries to verify requests.

### TypeScript

\`\`\`typescript
${verifySnippets.typescript}
\`\`\`

### Python

\`\`\`python
${verifySnippets.python}
\`\`\`

### openssl

\`\`\`bash
${verifySnippets.shell}
\`\`\``;

function retries({ retryScheduleMs, timeoutMs }: DeliveryRules): string {
  const longestWaitMs = Math.max(4 * 3_600_000, ...retryScheduleMs);
  const outcomes = [
    [`2xx within ${durationText(timeoutMs)}`, 'The event is delivered.'],
    ['410', 'The delivery fails, and the webhook is disabled. No more events are sent.'],
    ['Any other status, including 3xx', 'The service tries again. It does not follow redirects.'],
    [
      'No response, or not in time',
      'The service tries again. The `error` of the delivery says why no response arrived.',
    ],
  ];
  const waits = retryScheduleMs.map((waitMs, index) => [String(index + 2), durationText(waitMs)]);
  return `The status that your receiver returns determines what happens next:

${table(['Your receiver returns', 'What happens'], outcomes)}

The response body does not affect the result. Its first 1 KiB is stored with the attempt, so an error message in it can help you later. Every failed attempt also shows what happened (\`error_detail\`) and what to do about it (\`remedy\`).

### Retry schedule

The service makes up to ${retryScheduleMs.length + 1} attempts:

${table(['Attempt', 'Wait after the previous attempt'], waits)}

A random 0–20% is added to each wait. With status 429 or 503, your receiver can ask for a longer wait with \`Retry-After\`, up to ${durationText(longestWaitMs)}.

### After the last attempt

The delivery is \`failed\`, and the service records a \`webhook.delivery_failed\` event. This event is never sent to the webhook that it is about. To resend events, redeliver a single delivery or replay a time range.

The service disables a webhook if every attempt has failed for 5 days, and records a \`webhook.disabled\` event. To use the webhook again, update its status to \`active\`.`;
}
