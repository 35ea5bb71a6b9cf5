import { describe, expect, test } from 'vitest';
import { record, sendRequest } from '../support/client.js';
import { actor, moveBody, Platform, resources } from '../support/lifecycle.js';
import { readOperations } from '../support/operations.js';
import { platformToken, sharedService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const service = await sharedService();
const tenant = await newTenant(service);
const platform = new Platform(service, tenant.organization);

const pointers = ({ body }: { body: { errors: { pointer: string; code: string }[] } }) =>
  body.errors.map(({ pointer, code }) => `${pointer} ${code}`);

describe('a creation', () => {
  test('accepts the attributes of the resource and returns them', async () => {
    const fields = { name: 'Support', execution_model: 'agent_led', product_line: 'customer_support' };
    const { body } = await platform.create('service-lines', fields);
    expect(body.data).toMatchObject(fields);
    const moved = await platform.post(`service-lines/${body.data.id}/activate`, { actor });
    expect(moved.body.event.payload).toEqual({
      ...{ previous_status: 'draft', new_status: 'active' },
      ...{ execution_model: 'agent_led', product_line: 'customer_support' },
    });
  });

  test('with missing, unknown or wrong fields is 422 with all of them, and creates nothing', async () => {
    const before = await platform.traces();
    const response = await platform.post('incidents', {
      ...{ organization_id: 'acme', workspace_id: 'x', actor: { type: 'User' }, severity: 'bad', colour: 1 },
      title: 'half of a pair: \ud800',
    });
    expect(response.status).toBe(422);
    expect(pointers(response).sort()).toEqual([
      '/actor/id required',
      '/actor/type pattern_mismatch',
      '/colour unknown_field',
      '/organization_id pattern_mismatch',
      '/service_line_id required',
      '/severity pattern_mismatch',
      '/title invalid_text',
      '/workspace_id pattern_mismatch',
    ]);
    expect(await platform.traces()).toEqual(before);
  });

  test('as NDJSON, which only events support, is 415', async () => {
    const response = await sendRequest(`${service.platformUrl}/platform/service-lines`, {
      ...{ method: 'POST', token: platformToken, headers: { 'content-type': 'application/x-ndjson' } },
      raw: `${JSON.stringify({ organization_id: tenant.organization, actor })}\n`,
    });
    expect(response.status).toBe(415);
  });

  test('cannot set the status, the id or a counter', async () => {
    const response = await platform.create('invoices', { status: 'paid', id: 'INV-1', payment_attempts: 3 });
    expect(pointers(response)).toEqual([
      '/status unknown_field',
      '/id unknown_field',
      '/payment_attempts unknown_field',
    ]);
  });

  test('with a number that would lose digits is 422', async () => {
    const response = await sendRequest(`${service.platformUrl}/platform/invoices`, {
      ...{ method: 'POST', token: platformToken, headers: { 'content-type': 'application/json' } },
      raw: `{"organization_id":"ORG-a","actor":{"type":"user","id":"USR-1"},"amount_minor":9007199254740993}`,
    });
    expect(pointers(response)).toEqual(['/amount_minor too_large']);
  });

  test('with a number that is too large is 422', async () => {
    const response = await sendRequest(`${service.platformUrl}/platform/invoices`, {
      ...{ method: 'POST', token: platformToken, headers: { 'content-type': 'application/json' } },
      raw: `{"organization_id":"ORG-a","actor":{"type":"user","id":"USR-1"},"amount_minor":1e400}`,
    });
    expect([response.status, response.body.errors[0].pointer]).toEqual([422, '/amount_minor']);
  });
});

describe('a move', () => {
  test('of an unknown id, or an id of another kind, is 404', async () => {
    const { id } = await platform.bring('invoices');
    for (const path of ['service-lines/LIN-1/activate', `service-lines/${id}/activate`]) {
      const { status, body } = await platform.post(path, { actor });
      expect([status, body.code, body.detail]).toEqual([
        404,
        'not_found',
        'The service line does not exist.',
      ]);
    }
    expect((await platform.get(`service-lines/${id}`)).status).toBe(404);
  });

  test('that the resource does not have is 404, and the response lists those that exist', async () => {
    const { id } = await platform.bring('service-lines');
    const { status, body } = await platform.post(`service-lines/${id}/explode`, { actor });
    expect([status, body.code]).toEqual([404, 'not_found']);
    expect(body.detail).toBe(
      'Nothing exists at this path. Known paths under /platform/service-lines/{id}: activate, pause, resume, close.',
    );
    const elsewhere = await platform.post('service-lines/one/two/three', { actor });
    expect(elsewhere.body.detail).toBe('Nothing exists at this path.');
    expect((await platform.get(`service-lines/${id}/activate`)).status).toBe(405);
  });

  test('that lacks a required field is 422, before its status or id is checked', async () => {
    for (const [path, field] of [
      ['incidents/INC-1/change-severity', '/severity'],
      ['users/USR-1/change-role', '/role'],
      ['tasks/TSK-1/assign', '/assignee_id'],
    ]) {
      const response = await platform.post(path!, { actor });
      expect([response.status, pointers(response)]).toEqual([422, [`${field} required`]]);
    }
    expect(pointers(await platform.post('service-lines/LIN-1/pause', { reason: 7, why: '' }))).toEqual([
      '/actor required',
      '/reason wrong_type',
      '/why unknown_field',
    ]);
  });

  test('sets the given attributes, reports them in the event, and has before and after in the audit log', async () => {
    const { id } = await platform.bring('incidents');
    const { body } = await platform.post(`incidents/${id}/change-severity`, { actor, severity: 'p0' });
    expect(body.data.severity).toBe('p0');
    expect(body.event.payload).toMatchObject({ id, previous_severity: 'p1', new_severity: 'p0' });
    expect((await platform.audit(id)).at(-1).changes).toEqual({ severity: { from: 'p1', to: 'p0' } });
  });

  test('reports the previous assignee of a task, or null if there was none', async () => {
    const { id } = await platform.bring('tasks');
    const assign = async (assignee_id: string) =>
      (await platform.post(`tasks/${id}/assign`, { actor, assignee_id })).body.event.payload;
    expect(await assign('USR-2')).toEqual({ id, assignee_id: 'USR-2', previous_assignee_id: null });
    expect(await assign('AGT-3')).toEqual({ id, assignee_id: 'AGT-3', previous_assignee_id: 'USR-2' });
  });

  test('that pays another amount than was owed reports it and leaves the invoice unchanged', async () => {
    const { body } = await platform.create('invoices', { amount_minor: 500 });
    const { id } = body.data;
    await platform.post(`invoices/${id}/finalize`, { actor, number: '2026-1', amount_minor: 600 });
    const paid = await platform.post(`invoices/${id}/pay`, { actor, amount_minor: 550 });
    expect(paid.body.data).toMatchObject({ number: '2026-1', amount_minor: 600, status: 'paid' });
    expect(paid.body.event.payload.amount_minor).toBe(550);
  });

  test('counts failed payments automatically', async () => {
    const { id } = await platform.bring('invoices', 'open');
    const fail = () => platform.post(`invoices/${id}/fail-payment`, { actor, failure_code: 'expired_card' });
    expect((await fail()).body.event.payload).toMatchObject({ attempt: 1, failure_code: 'expired_card' });
    expect((await fail()).body.event.payload.attempt).toBe(2);
    const counted = await fail();
    expect([counted.body.data.payment_attempts, counted.body.data.status]).toEqual([3, 'open']);
    expect(pointers(await platform.post(`invoices/${id}/fail-payment`, { actor, attempt: 1 }))).toEqual([
      '/attempt unknown_field',
    ]);
  });

  test('measures how long the status lasted, whatever changed meanwhile', async () => {
    const { id } = await platform.bring('incidents');
    await service.database.query({
      text: `
  update posthorn.resources set status_since = status_since - interval '1 hour' where id = $1`,
      values: [id],
    });
    await platform.post(`incidents/${id}/change-severity`, { actor, severity: 'p3' });
    const { body } = await platform.post(`incidents/${id}/resolve`, { actor });
    expect(body.event.payload.duration_ms).toBeGreaterThanOrEqual(3_600_000);
  });

  test('requested many times at once is made once', async () => {
    const { id } = await platform.bring('invoices');
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => platform.post(`invoices/${id}/finalize`, { actor })),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)]);
    expect(await tenant.events({ subject_id: id })).toHaveLength(1);
  });
});

test('events about resources that were never created here are recorded, too', async () => {
  const [recorded] = await record(service, {
    ...{ type: 'invoice.paid', organization_id: tenant.organization, actor, payload: {} },
    subject: { type: 'invoice', id: 'INV-of-somebody-else' },
  });
  expect(recorded!.id).toMatch(/^EVT-/);
});

test('the OpenAPI document of the listener has every creation, move and resource', async () => {
  const names = (await readOperations(service.platformUrl)).map(({ name }) => name);
  for (const [resource, { moves }] of resources) {
    expect(names).toContain(`POST /platform/${resource}`);
    expect(names).toContain(`GET /platform/${resource}/{id}`);
    for (const move of Object.keys(moves)) expect(names).toContain(`POST /platform/${resource}/{id}/${move}`);
  }
});

test('lifecycles are not on the public listener, and nothing works without the platform token', async () => {
  const options = { method: 'POST', body: moveBody(resources[0]![1], 'activate') };
  const path = '/platform/service-lines/LIN-1/activate';
  expect((await sendRequest(`${service.publicUrl}${path}`, { ...options, token: tenant.token })).status).toBe(
    404,
  );
  expect(
    (await sendRequest(`${service.platformUrl}${path}`, { ...options, token: tenant.token })).status,
  ).toBe(401);
});
