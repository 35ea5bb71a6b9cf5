import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, describe, expect, it } from 'vitest';
import { event, sendRequest } from '../support/client.js';
import { readDocument } from '../support/operations.js';
import { startReceiver } from '../support/receiver.js';
import { platformToken, startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const added = {
  type: 'parcel.sent',
  description: 'A parcel left the house.',
  schema: {
    type: 'object',
    properties: {
      weight_g: { type: 'integer', minimum: 1, description: 'What the scale showed.' },
      inner: { $ref: '#/$defs/parcel' },
    },
    required: ['weight_g'],
    $defs: { parcel: { type: 'object', properties: { label: { type: 'string' }, whole: { $ref: '#' } } } },
  },
  sample: { weight_g: 250 },
};

const directory = await mkdtemp(join(tmpdir(), 'posthorn-catalogue-'));
afterAll(() => rm(directory, { recursive: true }));
const file = join(directory, 'catalogue.json');
await writeFile(file, JSON.stringify([added]));

/** The file of the catalogue is all that changes: no other setting, and no line of code. */
const service = await startTestService({ POSTHORN_CATALOGUE: file });
const tenant = await newTenant(service);

describe('a type that was added to the catalogue', () => {
  it('is listed with its schema and sample', async () => {
    expect(await tenant.data('GET', '/v1/event-types')).toContainEqual({ ...added, version: 1 });
  });

  it('is among the webhooks of the OpenAPI document, which stays valid and resolves its references', async () => {
    const document = await readDocument(service.publicUrl);
    expect(Object.keys(document.webhooks ?? {})).toContain(added.type);
    const { post } = document.components.pathItems![added.type]!;
    expect(post).toMatchObject({
      summary: added.type,
      description: `${added.description} Version 1 of the schema.`,
    });
    const { schema, example } = post.requestBody.content['application/json'];
    const envelope = at(document, schema.$ref);
    expect(envelope.properties.type).toMatchObject({ enum: [added.type] });
    const data = at(document, envelope.properties.data.$ref);
    expect(data.properties.weight_g).toEqual(added.schema.properties.weight_g);
    expect(example).toMatchObject({ type: added.type, data: added.sample });
    const { valid, errors } = await new Validator().validate(document as never);
    expect(valid, JSON.stringify(errors, null, 1)).toBe(true);
    expect(at(document, data.properties.inner.$ref)).toBe(data.$defs.parcel);
    expect(at(document, data.$defs.parcel.properties.whole.$ref)).toBe(data);
  });

  it('is recorded, validated against its schema, and suggested for a misspelling', async () => {
    const post = (fields: Record<string, unknown>) =>
      sendRequest(`${service.platformUrl}/platform/events`, {
        method: 'POST',
        token: platformToken,
        body: event({ organization_id: tenant.organization, type: added.type, ...fields }),
      });
    expect((await post({ payload: added.sample })).status).toBe(201);
    expect((await post({ payload: {} })).body.errors).toMatchObject([{ pointer: '/0/payload/weight_g' }]);
    const { body } = await post({ type: 'parcel.snet', payload: added.sample });
    expect(body.errors[0].detail).toContain('did you mean parcel.sent?');
  });

  it.each([['parcel.sent'], ['parcel.*']])('can be subscribed to as %s, and is delivered', async (name) => {
    const subscriber = await newTenant(service);
    const { receiver } = await subscriber.connect(200, { event_types: [name] });
    const recorded = await subscriber.record({ type: added.type, payload: added.sample });
    const { envelope } = await receiver.deliveries.nth(1);
    expect(envelope).toMatchObject({ id: recorded.id, type: added.type, data: added.sample });
  });

  it('is suggested for a misspelled subscription', async () => {
    const { url } = await startReceiver();
    const { status, body } = await tenant.create({ url, event_types: ['parcel.snet'] });
    expect(status).toBe(422);
    expect(body.errors[0].detail).toContain('did you mean parcel.sent');
  });

  it('can be tested with its sample', async () => {
    const { receiver, webhook } = await tenant.connect(200, { event_types: ['invoice.paid'] });
    await tenant.data('POST', `/v1/webhooks/${webhook.id}/test`, { event_type: added.type });
    const { envelope } = await receiver.deliveries.nth(1);
    expect(envelope).toMatchObject({ type: added.type, test: true, data: added.sample });
  });
});

/** What a JSON pointer in a fragment leads to. */
// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has every shape
function at(document: object, reference: string): any {
  const steps = decodeURIComponent(reference.replace(/^#\/?/, '')).split('/').filter(Boolean);
  return steps.reduce<unknown>(
    (place, step) =>
      (place as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  );
}
