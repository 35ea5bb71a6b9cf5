import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Posthorn } from '@posthorn/client';
import { describe, expect, test } from 'vitest';
import { afterFile } from '../../server/test/support/cleanup.js';
import { event } from '../../server/test/support/client.js';
import { program } from '../../server/test/support/process.js';
import { hideDelivery } from '../../server/test/support/rare-delivery.js';
import { recordText } from '../../server/test/support/recording.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import type { ApiContext } from '../src/connection.js';
import { tools } from '../src/mcp-tools.js';

const service = await sharedService();
const tenant = await newTenant(service);

/** Connects as a coding agent does: it starts the program and speaks over its standard input and output. */
async function agent(token = tenant.token, ...args: string[]) {
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env.PATH ?? '', POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: token };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [program, 'mcp', ...args], env }),
  );
  afterFile(() => client.close());
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: given });
    const [first] = result.content as { text: string }[];
    return { text: first?.text ?? '', isError: result.isError ?? false };
  };
  return { client, call };
}

describe('mcp', async () => {
  const { client, call } = await agent();
  const { receiver, webhook } = await tenant.connect({ status: 500, body: 'database is locked' });
  const fields = { organization_id: tenant.organization, payload: 'PAYLOAD' };
  const payload = '{"id":"INV-1","rate":1.10,"big":12345678901234567890}';
  const given = JSON.stringify([event(fields)]).replace('"PAYLOAD"', payload);
  const recorded = (await recordText(service.database, given))[0]!;
  const [delivery] = await tenant.settled(webhook);

  test('offers only tools that read, unless writes are allowed', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['list_events', 'get_event', 'list_event_types', 'list_webhooks', 'get_webhook', 'preview_webhook'],
      ...['list_deliveries', 'get_delivery', 'explain_delivery'],
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
  });

  test('explains why a delivery failed', async () => {
    const found = JSON.parse((await call('list_deliveries', { status: 'failed' })).text);
    expect(found).toMatchObject({ items: [{ id: delivery.id }], has_more: false, cursor: null });
    const { text, isError } = await call('explain_delivery', { delivery_id: delivery.id.slice(-10) });
    expect(isError).toBe(false);
    expect(text).toContain(
      `of invoice.paid ${recorded.id} to webhook ${webhook.id}: retrying, 1 attempt so far`,
    );
    expect(text).toMatch(/What happened: .*500/);
    expect(text).toContain('What to do: ');
    expect(text).toContain('The receiver responded: database is locked');
  });

  test('explains that a delivery waits until its webhook is verified, why it is not, and how to verify it', async () => {
    const verify = () => tenant.data('POST', `/v1/webhooks/${webhook.id}/verify`);
    receiver.onVerification = 404;
    await verify();
    const { text } = await call('explain_delivery', { delivery_id: delivery.id });
    expect(text).toContain('retrying, 1 attempt so far, waiting until the webhook is verified or resumed.');
    expect(text).toMatch(/^Why the webhook is unverified: There is no handler for POST /m);
    expect(text).toContain(`run posthorn webhooks verify ${webhook.id}.`);
    receiver.onVerification = 200;
    await verify();
  });

  test('does not explain a delivery as one of a deleted webhook if the webhook cannot be read', async () => {
    const posthorn = new Posthorn({
      ...{ url: service.publicUrl, token: tenant.token, retry: { attempts: 1 } },
      fetch: async (url, init) =>
        String(url).endsWith(webhook.id)
          ? Response.json({ code: 'unavailable', detail: 'Later.' }, { status: 503 })
          : fetch(url, init),
    });
    const explain = tools.find(({ name }) => name === 'explain_delivery')!;
    const explained = explain.run({ posthorn } as ApiContext, { delivery_id: delivery.id });
    await expect(explained).rejects.toMatchObject({ status: 503 });
  });

  test('reads events, types, webhooks and deliveries', async () => {
    const list = async (name: string, given = {}) => JSON.parse((await call(name, given)).text);
    const whole = { has_more: false, cursor: null };
    expect(await list('list_events', { type: 'invoice.paid', from: '1h' })).toMatchObject({
      ...{ items: [{ id: recorded.id }], ...whole },
    });
    expect(await list('list_events', { to: '1h' })).toEqual({ items: [], ...whole });
    expect(JSON.parse((await call('get_event', { event_id: recorded.id })).text).deliveries).toHaveLength(1);
    expect((await list('list_event_types', { type: 'invoice.paid' })).items[0]).toHaveProperty('schema');
    expect(await list('list_webhooks')).toMatchObject({ items: [{ id: webhook.id }], ...whole });
    const { last_48_hours } = await list('get_webhook', { webhook_id: webhook.id });
    expect(last_48_hours).toMatchObject({ pending: expect.any(Number), hours: [] });
    expect(
      JSON.parse((await call('get_delivery', { delivery_id: delivery.id })).text).attempt_log,
    ).toHaveLength(1);
  });

  test('says why a webhook did not get an event', async () => {
    const own = await newTenant(service);
    const { id } = await own.record();
    const { webhook } = await own.connect();
    const { text } = await (await agent(own.token)).call('get_event', { event_id: id });
    expect(JSON.parse(text)).toMatchObject({
      ...{ event: { id }, deliveries: [] },
      not_delivered: [{ webhook_id: webhook.id, reason: 'created_later', detail: expect.any(String) }],
    });
  });

  test('returns payloads with their numbers as recorded', async () => {
    const one = (await call('get_event', { event_id: recorded.id })).text;
    const list = (await call('list_events')).text;
    for (const text of [one, list]) expect(text).toMatch(/"rate": 1\.10,\n +"big": 12345678901234567890\n/);
  });

  test('follows a list with its cursor', async () => {
    const own = await newTenant(service);
    const agentOf = await agent(own.token);
    const ids = [(await own.record()).id, (await own.record()).id, (await own.record()).id].reverse();
    const first = JSON.parse((await agentOf.call('list_events', { limit: 2 })).text);
    expect(first).toMatchObject({ items: [{ id: ids[0] }, { id: ids[1] }], has_more: true });
    const rest = JSON.parse((await agentOf.call('list_events', { limit: 2, cursor: first.cursor })).text);
    expect(rest).toMatchObject({ items: [{ id: ids[2] }], has_more: false, cursor: null });
  });

  test('returns a failure as text that says what to do, in the words of the tools', async () => {
    expect(await call('get_webhook', { webhook_id: 'nothing' })).toEqual({
      text: "No webhook has the description 'nothing' or an ID that ends with 'nothing'. Call list_webhooks to see the IDs.",
      isError: true,
    });
    const { text, isError } = await call('list_deliveries', { from: 'yesterday' });
    expect(isError).toBe(true);
    expect(text).toMatch(/^from: .*\nCorrect the arguments, then call list_deliveries again\.$/);
    const { note } = JSON.parse((await call('list_events', { type: 'invoice.piad' })).text);
    expect(note).toBe(
      "There is no event type 'invoice.piad'. Did you mean invoice.paid? Call list_event_types to list all types.",
    );
  });

  test('says what Posthorn is and where to start', () => {
    expect(client.getInstructions()).toMatch(/^Posthorn records .* list_webhooks, then list_deliveries /);
  });

  test('with --allow-writes verifies, pauses, resumes, tests, redelivers with the outcome, and replays', async () => {
    const { call: write } = await agent(tenant.token, '--allow-writes');
    const tested = await write('test_webhook', { webhook_id: webhook.id, event_type: 'task.created' });
    expect(JSON.parse(tested.text)).toMatchObject({ http_status: 500 });
    receiver.onDelivery = 200;
    const verified = await write('verify_webhook', { webhook_id: webhook.id });
    expect(JSON.parse(verified.text)).toMatchObject({ id: webhook.id, status: 'active' });
    const paused = await write('pause_webhook', { webhook_id: webhook.id });
    expect(JSON.parse(paused.text)).toMatchObject({ id: webhook.id, status: 'paused' });
    const resumed = await write('resume_webhook', { webhook_id: webhook.id });
    expect(JSON.parse(resumed.text)).toMatchObject({ id: webhook.id, status: 'active' });
    const redelivered = JSON.parse((await write('redeliver', { delivery_id: delivery.id })).text);
    expect(redelivered).toMatchObject({ status: 'success', http_status: 200, final: true });
    const range = { from: recorded.created_at, to: new Date().toISOString() };
    expect(JSON.parse((await write('replay', { webhook_id: webhook.id, ...range })).text)).toHaveProperty(
      'total',
    );
  });

  test('says how far back it searched if it stopped before it found enough deliveries', async () => {
    const hidden = await hideDelivery(service, tenant, 2_200);
    const first = JSON.parse((await call('list_deliveries', { event_type: 'task.created' })).text);
    expect(first).toMatchObject({
      ...{
        items: [],
        has_more: true,
        searched_to: expect.any(String),
        note: expect.stringContaining('cursor'),
      },
    });
    const next = { event_type: 'task.created', cursor: first.cursor };
    const found = JSON.parse((await call('list_deliveries', next)).text);
    expect(found).toMatchObject({ items: [{ id: hidden.id }], has_more: false });
  });
});
