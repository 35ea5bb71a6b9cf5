import type { RateLimits } from '../access/rate-limits.js';
import type { Scope } from '../access/token.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { Tag } from '../web/api-document.js';
import { table } from '../web/markdown.js';
import { type DeliveryRules, receivingGuides } from './receiving-guides.js';

/** Returns the guides of the public API, for people who have only its reference. */
export function publicGuides(
  catalogue: Catalogue,
  rateLimits: RateLimits,
  delivery: DeliveryRules,
): readonly Tag[] {
  return [
    authentication,
    { name: 'Requests and responses', description: conventions + rateLimitText(rateLimits) },
    ...receivingGuides(catalogue, delivery),
  ];
}

const scopeMeanings: Readonly<Record<Scope, string>> = {
  'events:read': 'Read events and event types.',
  'webhooks:read': 'Read webhooks, deliveries and statistics.',
  'webhooks:write':
    'Create, update, test and delete webhooks, and resend events. All operations except deleting a webhook and rotating its secret also need `events:read`.',
  'audit:read': 'Read the audit log.',
};

const authentication: Tag = {
  name: 'Authentication',
  description: `Send an access token with every request:

\`\`\`http
Authorization: Bearer <token>
\`\`\`

The operator of the service creates tokens. A token belongs to one organization and can be restricted to one of its workspaces. It has an expiry date and one or more of these scopes:

${table(
  ['Scope', 'Allows you to'],
  Object.entries(scopeMeanings).map(([scope, meaning]) => [`\`${scope}\``, meaning]),
)}

Each operation lists the scopes that it requires.`,
};

const conventions = `- Bodies are JSON in UTF-8. Send a body with \`Content-Type: application/json\`.
- Times are RFC 3339 in UTC with milliseconds: \`2026-11-15T09:30:00.000Z\`.
- IDs are opaque after their prefix.
- Unknown and repeated query parameters are errors. They are never ignored.
- Every response has an \`X-Request-Id\` header. To choose the ID yourself, send this header with 8 to 128 characters from \`A-Z a-z 0-9 . _ -\`.
- To repeat a \`POST\` safely, send an \`Idempotency-Key\` header. For 24 hours, the same key with the same body returns the first response. Requests that send a test event ignore the key.

### Pages

A list returns one page of results and a \`meta\` object. While \`meta.has_more\` is true, repeat the request with \`cursor\` set to \`meta.cursor\` and with the **same filters**. Only \`limit\` may change. Cursors do not expire, and new results do not shift pages.

To read events continuously, use \`order=asc\`, keep the last \`meta.cursor\`, and continue from it later. You get every event exactly once.`;

function rateLimitText({ reads, writes }: RateLimits): string {
  const limits = [
    reads > 0 && `${reads} reads (\`GET\` and \`HEAD\`)`,
    writes > 0 && `${writes} writes`,
  ].filter((limit) => limit !== false);
  if (limits.length === 0) return '';
  return `

### Rate limits

A token can make ${limits.join(' and ')} per minute. Responses report how many requests are left:

| Header | Value |
| --- | --- |
| \`RateLimit-Policy\` | \`"reads";q=600;w=60\`: 600 reads are allowed in 60 seconds. |
| \`RateLimit\` | \`"reads";r=598;t=42\`: 598 are left. The count resets in 42 seconds. |
| \`Retry-After\` | With status 429 or 503: wait this many seconds, then repeat the request. |

To receive a steady flow of events, use webhooks instead of polling.`;
}
