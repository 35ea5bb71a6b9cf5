import type { ApiDocument, Operation, Parameter, Schema } from './api-document.js';
import { anchor, codeBlock, type Html, html, inline, jsonMarkup, paragraphs } from './markup.js';
import { fieldTable } from './reference-fields.js';
import { parameterSections } from './reference-operation.js';
import { dutiesList, retryPart, verificationPart, verifyBlock } from './reference-receiving.js';
import { exampleOf, resolved } from './reference-schema.js';

/** What a receiver gets for one event type. */
export interface Received {
  type: string;
  operation: Operation;
}

export function receivedOf(document: ApiDocument): Received[] {
  return Object.entries(document.webhooks ?? {}).flatMap(([type, item]) =>
    Object.values(item).map((operation) => ({ type, operation })),
  );
}

export function receivedAnchor(type: string): string {
  return `event-${anchor(type)}`;
}

export function receivedSection(document: ApiDocument, received: readonly Received[]): Html {
  const [first] = received;
  if (!first) return html``;
  const shared = sharedParameters(received);
  const envelope = envelopeOf(document, first.operation);
  const domains = new Set(received.map(domainOf));
  return html`<section id="received">
<h2><a href="#received">Receiving webhooks</a></h2>
<div class="columns"><div class="text">
${paragraphs(
  'For each event that a webhook subscribes to, its URL gets a `POST` with JSON: the envelope, the same fields around ' +
    'every event, and what is special to the type in `data`. Do four things:',
)}
${dutiesList}
${Object.entries(first.operation.responses ?? {}).map(
  ([status, { description }]) => html`<p><span class="status ok">${status}</span> ${inline(description)}</p>`,
)}
${parameterSections(document, shared, 'response')}
<h4>Envelope</h4>
${fieldTable(document, { ...envelope, properties: sharedFields(envelope) }, 'response')}
</div><div class="samples">
${verifyBlock}
</div></div>
${verificationPart}
${retryPart}
<h3 class="types">Every event type</h3>
${[...domains].map(
  (domain) => html`<h3 class="domain">${domain}</h3>
${received.filter((one) => domainOf(one) === domain).map((one) => receivedDetails(document, one, shared))}`,
)}
</section>`;
}

const domainOf = ({ type }: Received) => type.split('.', 1)[0] ?? type;

/** The envelope without what only one event type has. */
function sharedFields({ properties = {} }: Schema): Record<string, Schema> {
  const type = { type: 'string', description: 'The event type.' };
  const data = { type: 'object', description: 'Depends on the type, as told below.' };
  return { ...properties, type, data };
}

function receivedDetails(
  document: ApiDocument,
  { type, operation }: Received,
  shared: readonly Parameter[],
): Html {
  const media = operation.requestBody?.content?.['application/json'];
  const data = envelopeOf(document, operation).properties?.data;
  const own = (operation.parameters ?? []).filter(
    (parameter) => !shared.some((one) => sameParameter(one, parameter)),
  );
  return html`
<details class="event" id="${receivedAnchor(type)}"><summary><code>${type}</code> <span>${inline(operation.summary)}</span></summary>
<div class="columns"><div class="text">
${paragraphs(operation.description)}${parameterSections(document, own, 'response')}
<h4>Fields of <code>data</code></h4>
${fieldTable(document, data, 'response')}
</div><div class="samples">${media && codeBlock('Body', jsonMarkup(exampleOf(document, media)))}</div></div>
</details>`;
}

function envelopeOf(document: ApiDocument, operation: Operation): Schema {
  return resolved(document, operation.requestBody?.content?.['application/json']?.schema);
}

/** The headers that come with every type are told once. */
function sharedParameters(received: readonly Received[]): Parameter[] {
  const [first, ...others] = received;
  return (first?.operation.parameters ?? []).filter((parameter) =>
    others.every(({ operation }) =>
      (operation.parameters ?? []).some((one) => sameParameter(one, parameter)),
    ),
  );
}

const sameParameter = (a: Parameter, b: Parameter) => JSON.stringify(a) === JSON.stringify(b);
