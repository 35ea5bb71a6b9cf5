import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sendRequest } from '../support/client.js';
import { Log } from '../support/log.js';
import { platformToken, startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const log = new Log();
const secretKey = randomBytes(32).toString('base64');
const service = await startTestService(
  { POSTHORN_LOG_LEVEL: 'trace', POSTHORN_SECRET_KEY: secretKey, POSTHORN_RETRY_SCHEDULE: '1ms' },
  log,
);
const tenant = await newTenant(service, {
  scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
});
const secret = `planted-secret-${randomBytes(16).toString('hex')}`;
const rotated = `planted-rotated-${randomBytes(16).toString('hex')}`;
const header = `planted-header-${randomBytes(16).toString('hex')}`;
const payload = `planted-payload-${randomBytes(16).toString('hex')}`;
const query = `planted-query-${randomBytes(16).toString('hex')}`;
const responses: string[] = [];

/** Sends a request and keeps everything that comes back. */
async function send(method: string, path: string, body?: unknown) {
  const response = await tenant.request(method, path, body === undefined ? {} : { body });
  responses.push(JSON.stringify([...response.headers]), response.text);
  return response;
}

/** What a response shows once, and nothing else ever. */
const shownOnce = await (async () => {
  const { receiver, webhook } = await tenant.connect(503, { secret, headers: { 'X-Key': header } });
  const { id } = webhook;
  // Faults: the service may show what is wrong, but not with a secret.
  await send('POST', '/v1/webhooks', {
    ...tenant.creation({ url: receiver.url }),
    secret: `${secret}\u0000`,
  });
  await send('POST', '/v1/webhooks', {
    ...tenant.creation({ url: 'nowhere' }),
    secret,
    headers: { 'X Y': header },
  });
  responses.push(
    (
      await tenant.request('POST', '/v1/webhooks', {
        raw: `{"secret":"${secret}`,
        headers: { 'content-type': 'application/json' },
      })
    ).text,
  );
  await send('GET', `/v1/events?organization_id=${tenant.organization}&subject_id=${query}`);
  await send('GET', `/v1/events?organization_id=${tenant.organization}&unknown=${query}x`);
  await tenant.record({ type: 'task.created', payload: { note: payload } });
  await tenant.settled(webhook, 1, ({ final }) => final);
  await send('POST', `/v1/webhooks/${id}/test`, { event_type: 'invoice.paid' });
  await send('POST', `/v1/webhooks/${id}/rotate-secret`, { secret: rotated });
  await send('POST', `/v1/webhooks/${id}/verify`);
  const { data } = (await tenant.request('POST', `/v1/webhooks/${id}/rotate-secret`, { body: {} })).body;
  // The response with a generated secret is not kept for the requests that repeat its key.
  const keyed = { body: tenant.creation({ url: receiver.url }), headers: { 'idempotency-key': 'planted' } };
  const first = await tenant.request('POST', '/v1/webhooks', keyed);
  const again = await tenant.request('POST', '/v1/webhooks', keyed);
  expect([again.status, again.body.data.id]).toEqual([201, first.body.data.id]);
  responses.push(again.text);
  for (const path of [
    `/v1/webhooks?organization_id=${tenant.organization}`,
    `/v1/webhooks/${id}`,
    `/v1/webhooks/${id}/deliveries`,
    `/v1/audit-logs?organization_id=${tenant.organization}`,
    '/v1/token',
    '/console',
    '/openapi.json',
  ])
    await send('GET', path);
  const [delivery] = await tenant.deliveries(webhook);
  await send('GET', `/v1/webhooks/${id}/deliveries/${delivery.id}`);
  const issue = async (path: string) => {
    const body = { organization_id: tenant.organization };
    const response = await sendRequest(`${service.platformUrl}/platform/${path}`, {
      method: 'POST',
      token: platformToken,
      body,
    });
    return response.body.data.token as string;
  };
  return {
    generated: data.secret as string,
    generatedWithKey: first.body.data.secret as string,
    issued: await issue('tokens'),
    portal: await issue('portal-sessions'),
  };
})();

const secrets = { ...shownOnce, secret, rotated, header, token: tenant.token, platformToken, secretKey };

it('no secret, token, payload or query string appears in the log, even at the lowest level', () => {
  expect(log.lines.length).toBeGreaterThan(10);
  expect([shownOnce.generated, shownOnce.generatedWithKey].every((one) => one.startsWith('whsec_'))).toBe(
    true,
  );
  for (const [name, value] of Object.entries({ ...secrets, payload, query }))
    expect(log.text, name).not.toContain(value);
});

it('no secret or token appears in a response, an error or the console', () => {
  const text = responses.join('\n');
  expect(text).toContain(tenant.organization);
  for (const [name, value] of Object.entries(secrets)) expect(text, name).not.toContain(value);
});

it('no secret, token, payload, query string or id appears in the metrics', async () => {
  const { text } = await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
  expect(text).toContain('posthorn_delivery_attempts_total');
  for (const [name, value] of Object.entries({ ...secrets, payload, query }))
    expect(text, name).not.toContain(value);
  expect(text).not.toContain(tenant.organization);
  expect(text).not.toMatch(/\b(EVT|WHK|WDLV|TOK|ORG)-/);
});

it('no secret or token is readable in a dump of the database', async () => {
  const { rows: tables } = await service.database.query<{ name: string }>({
    text: `select c.oid::regclass::text as name from pg_class c
            where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r'`,
  });
  let dump = '';
  for (const { name } of tables) {
    const { rows } = await service.database.query<{ row: string }>({
      text: `select t::text as row from ${name} t`,
    });
    dump += rows.map(({ row }) => row).join('\n');
  }
  // Columns of bytes are printed in hexadecimal.
  expect(dump).toContain(payload);
  for (const [name, value] of Object.entries(secrets)) {
    expect(dump, name).not.toContain(value);
    expect(dump, name).not.toContain(Buffer.from(value).toString('hex'));
    expect(dump, name).not.toContain(Buffer.from(value).toString('base64').replace(/=+$/, ''));
  }
});
