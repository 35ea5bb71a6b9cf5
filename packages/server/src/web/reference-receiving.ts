import { codeBlock, type Html, html, inline, jsonMarkup, paragraphs } from './markup.js';

// What docs/receive-webhooks.md tells at length, in as many words as a receiver's author needs first.

export const dutiesList: Html = html`<ol>${[
  'Verify the signature over the **raw bytes** of the body; answer 401 where it does not hold.',
  'Answer 2xx within 3 seconds, and do the work afterwards.',
  'Deduplicate by `id`: the same event may come more than once.',
  'Do not count on the order: deliveries run side by side. `created_at` and `id` sort.',
].map((duty) => html`<li>${inline(duty)}</li>`)}</ol>
${paragraphs(
  'Guide: `docs/receive-webhooks.md` in the repository, with receivers in Node, Python, Go and Ruby, error kinds, and ' +
    'how to rotate the secret.',
)}`;

const verifySample = `import { verify } from '@posthorn/receiver';

// rawBody: the bytes as they arrived, not parsed
const result = verify(rawBody, request.headers, secret, {
  requireTimestamp: true,
});
if (!result.ok) return reply.code(401).send(result.detail);`;

export const verifyBlock: Html = html`${codeBlock('Check a request (Node)', verifySample)}
${paragraphs(
  '`requireTimestamp` accepts only the signature that covers the time of sending. `X-Service-Signature` covers the ' +
    'body alone: whoever recorded a request could send it again years later.',
)}
${paragraphs(
  'Keys: `X-Service-Signature` is keyed with the whole secret as UTF-8. `webhook-signature` is keyed with the decoded ' +
    'base64 after `whsec_`, or, for a secret of another form, with the secret as UTF-8.',
)}`;

const verificationSample = {
  id: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
  type: 'webhook.verification',
  created_at: '2026-11-15T09:30:00.000Z',
  organization_id: 'ORG-demo',
  workspace_id: null,
  data: {
    webhook_id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
    challenge: 'QER0dOn7ujfqFkRSVdcrpFOmdLR0cJ39',
  },
};

export const verificationPart: Html = html`<article class="part" id="verification-request">
<h3><a href="#verification-request">The verification request</a></h3>
<div class="columns"><div class="text">
${paragraphs(
  'When a webhook is created, gets a new URL, or is made active again, one signed request comes first. Answer exactly ' +
    '200 within 5 seconds; the challenge need not come back. Otherwise the webhook is `unverified` and gets nothing.\n\n' +
    'It has neither `X-Service-Delivery` nor `X-Service-Attempt`, and its id is in no stream. Its signature is checked ' +
    'like any other, so the endpoint must know the secret by then: give your own secret when you create the webhook.',
)}
</div><div class="samples">${codeBlock('Body', jsonMarkup(verificationSample))}</div></div>
</article>`;

const outcomes = [
  ['2xx in time', 'Delivered.'],
  ['410', 'The delivery is `failed` at once and the webhook is disabled: you want nothing more.'],
  ['any other status, 3xx included', 'Another attempt; redirects are never followed.'],
  ['no status', 'Another attempt; `error` of the delivery says why.'],
];

const waits = [
  ['2', '5 seconds'],
  ['3', '5 minutes'],
  ['4', '30 minutes'],
  ['5', '2 hours'],
];

export const retryPart: Html = html`<article class="part" id="retries">
<h3><a href="#retries">What is retried, and when</a></h3>
<div class="columns"><div class="text">
${table('What came', 'What follows', outcomes)}
</div><div class="samples">
${table('Attempt', 'Waits after the one before', waits)}
</div><div class="text">
${paragraphs(
  'Each wait is lengthened by a random 0 to 20 %. `Retry-After` with 429 or 503 can lengthen it further, up to 4 hours; ' +
    'it never shortens it. The operator may have set other waits.\n\n' +
    'After the fifth attempt the delivery is `failed`, and the event `webhook.delivery_failed` is recorded. It is ' +
    'delivered like any other event, but never to the webhook it is about. What was missed can be sent again: ' +
    '[Deliver the event once more](#redeliver), [Send past events again](#replay).\n\n' +
    'A webhook that has had nothing but failures for 5 days, spread over at least 12 hours, is disabled with the ' +
    'reason `failing`, and `webhook.disabled` is recorded.\n\n' +
    '[Send a test event](#testWebhook) makes one attempt, whatever the status of the webhook and whatever it subscribed ' +
    'to. Its body has `"test": true`; it is in no stream, no list and no figures.',
)}
</div></div>
</article>`;

function table(first: string, second: string, rows: readonly (readonly string[])[]): Html {
  return html`<table class="plain"><thead><tr><th scope="col">${first}</th><th scope="col">${second}</th></tr></thead>
<tbody>${rows.map(([name, text]) => html`<tr><th scope="row">${name}</th><td>${inline(text)}</td></tr>`)}</tbody></table>`;
}
