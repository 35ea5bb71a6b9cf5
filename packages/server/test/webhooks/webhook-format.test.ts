import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { event } from '../support/client.js';
import { startReceiver } from '../support/receiver.js';
import { recordText } from '../support/recording.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const secret = 'a-secret-of-the-tests';
const payload = '{"z":1.50, "a":"<!channel> & co","2":12345678901234567890}';

/** Records an event with this exact payload for a webhook with these fields. Returns the request and the event. */
async function sent(fields: Record<string, unknown>) {
  const tenant = await newTenant(service);
  const { receiver, webhook } = await tenant.connect(200, { secret, ...fields });
  const text = JSON.stringify([{ ...event(), organization_id: tenant.organization, payload: 0 }]);
  const [recorded] = await recordText(service.database, text.replace('"payload":0', `"payload":${payload}`));
  // A verification with a text looks like a delivery to the receiver.
  const isText = fields.format === 'slack';
  const request = await receiver.deliveries.nth(isText ? 2 : 1);
  const verification = await (isText ? receiver.deliveries : receiver.verifications).nth(1);
  const [delivery] = await tenant.settled(webhook);
  const { text: stored } = await tenant.request('GET', `/v1/events/${recorded!.id}`);
  return {
    tenant,
    webhook,
    request,
    verification,
    delivery,
    body: request.body.toString(),
    event: stored.slice('{"data":'.length, -1),
  };
}
const shown = (tenant: Tenant, webhook: { id: string }, delivery: { id: string }) =>
  tenant.data('GET', `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}`);

describe.concurrent('format', () => {
  it.each([
    { format: 'event' },
    { format: 'thin' },
    { format: 'cloudevents' },
    { format: 'slack' },
    { format: 'template', template: ['{{payload.z}}'] },
  ])('$format is signed over its exact bytes, shown as sent, and verified before', async (fields) => {
    const { tenant, webhook, request, verification, delivery, body } = await sent(fields);
    expect(webhook).toMatchObject(fields);
    expect(request.headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`,
    );
    const type = fields.format === 'cloudevents' ? 'application/cloudevents+json' : 'application/json';
    expect(request.headers['content-type']).toBe(type);
    const { request: asSent } = await shown(tenant, webhook, delivery);
    expect(asSent).toMatchObject({ body, headers: { 'Content-Type': type } });
    expect(verification.headers['content-type']).toBe('application/json');
    const isText = fields.format === 'slack';
    expect(JSON.parse(verification.body.toString())).toMatchObject(
      isText ? { text: expect.any(String) } : { type: 'webhook.verification' },
    );
  });

  it('event is the event as the API returns it, byte for byte', async () => {
    const { body, event } = await sent({ format: 'event' });
    expect(body).toBe(event);
    expect(body).toContain(`"payload":${payload}`);
  });

  it('thin is the same without the payload', async () => {
    const { body, event } = await sent({ format: 'thin' });
    const { payload, ...rest } = JSON.parse(event);
    expect(JSON.parse(body)).toEqual(rest);
  });

  it('cloudevents is CloudEvents 1.0 in structured mode', async () => {
    const { body, event } = await sent({ format: 'cloudevents' });
    const stored = JSON.parse(event);
    expect(body).toContain(`"data":${payload}`);
    expect(JSON.parse(body)).toEqual({
      specversion: '1.0',
      id: stored.id,
      source: `/organizations/${stored.organization_id}`,
      type: stored.type,
      time: stored.created_at,
      subject: `invoice/${stored.subject.id}`,
      datacontenttype: 'application/json',
      organizationid: stored.organization_id,
      workspaceid: 'WS-1',
      actortype: 'user',
      actorid: 'USR-ada',
      data: stored.payload,
    });
  });

  it('slack is one or two lines of text, in which a payload cannot notify anybody', async () => {
    const { body, event } = await sent({ format: 'slack' });
    const { subject } = JSON.parse(event);
    expect(JSON.parse(body)).toEqual({
      text: `invoice.paid: invoice ${subject.id}, by user USR-ada\n2: 12345678901234567890, z: 1.50, a: &lt;!channel&gt; &amp; co`,
    });
  });

  it('template is the body that the template describes', async () => {
    const { body, event } = await sent({
      format: 'template',
      template: {
        text: 'Paid: {{subject.id}}',
        amount: '{{payload.z}}',
        all: '{{payload.2}}',
        none: '{{payload.b}}',
      },
    });
    expect(body).toBe(
      `{"text":"Paid: ${JSON.parse(event).subject.id}","amount":1.50,"all":12345678901234567890,"none":null}`,
    );
  });

  it('applies to tests, which are marked as such', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { format: 'event' });
    const test = (fields: object) =>
      tenant
        .data('PATCH', `/v1/webhooks/${webhook.id}`, fields)
        .then(() => tenant.data('POST', `/v1/webhooks/${webhook.id}/test`, { event_type: 'invoice.paid' }))
        .then(({ request }) => JSON.parse(request.body));
    expect(await test({ format: 'event' })).toMatchObject({ type: 'invoice.paid', payload: {}, test: true });
    expect(await test({ format: 'cloudevents' })).toMatchObject({ specversion: '1.0', test: true });
    expect((await test({ format: 'slack' })).text).toMatch(/^Test: invoice\.paid/);
    expect(await test({ format: 'template', template: ['{{test}}'] })).toEqual([true]);
    expect(await test({ format: null })).toMatchObject({ test: true, data: {} });
  });

  it('is that of the attempt: after a change, a retry sends the new one, and what was sent before is not shown', async () => {
    const tenant = await newTenant(service);
    const { webhook, receiver } = await tenant.connect(500, { format: 'thin' });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1, ({ attempts }) => attempts === 1);
    await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { format: 'template', template: ['{{id}}'] });
    expect((await shown(tenant, webhook, delivery)).request.body).toBeNull();
    await tenant.bringForward(webhook);
    const { body } = await receiver.deliveries.nth(2);
    expect(body.toString()).toBe(`["${delivery.event_id}"]`);
    await tenant.settled(webhook, 1, ({ attempts }) => attempts === 2);
    expect((await shown(tenant, webhook, delivery)).request.body).toBe(body.toString());
  });

  it('and template must fit each other', async () => {
    const tenant = await newTenant(service);
    const url = (await startReceiver()).url;
    const pointers = async (method: string, path: string, fields: object) => {
      const { status, body } = await tenant.request(method, path, { body: fields });
      return [status, body.errors?.map(({ pointer }: { pointer: string }) => pointer)];
    };
    const create = (fields: object) => pointers('POST', '/v1/webhooks', tenant.creation({ url, ...fields }));
    expect(await create({ format: 'template' })).toEqual([422, ['/template']]);
    expect(await create({ template: ['a'] })).toEqual([422, ['/template']]);
    expect(await create({ format: 'template', template: ['{{a'] })).toEqual([422, ['/template/0']]);
    expect(await create({ format: 'xml' })).toEqual([422, ['/format']]);
    const { webhook } = await tenant.connect();
    const path = `/v1/webhooks/${webhook.id}`;
    expect(await pointers('PATCH', path, { template: ['a'] })).toEqual([422, ['/template']]);
    expect(await pointers('PATCH', path, { format: 'template' })).toEqual([422, ['/template']]);
    const changed = await tenant.data('PATCH', path, { format: 'template', template: ['a'] });
    expect(changed).toMatchObject({ format: 'template', template: ['a'] });
    expect(await tenant.data('PATCH', path, { template: ['b'] })).toMatchObject({ template: ['b'] });
    expect(await pointers('PATCH', path, { template: null })).toEqual([422, ['/template']]);
    expect(await tenant.data('PATCH', path, { format: null })).toMatchObject({
      format: 'envelope',
      template: null,
    });
  });
});
