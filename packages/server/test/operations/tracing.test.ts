import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { otlpTarget } from '../../src/operations/otlp-exporter.js';
import { ConfigError } from '../../src/settings/config.js';
import { afterFile } from '../support/cleanup.js';
import { event, sendRequest } from '../support/client.js';
import { Log } from '../support/log.js';
import { platformToken, startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[];
  status: { code: number };
}

/** Starts a collector that speaks OTLP over HTTP, and keeps what it gets. */
async function startCollector() {
  const requests: { path: string | undefined; key: unknown; text: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    requests.push({ path: request.url, key: request.headers['x-key'], text });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
  });
  const spans = (): Span[] =>
    requests.flatMap(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, spans };
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';

describe('with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  it('a trace leads from the producer through recording, delivery and attempt to the receiver', async () => {
    const collector = await startCollector();
    const service = await startTestService({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
      OTEL_SERVICE_NAME: 'posthorn-test',
      POSTHORN_RETRY_SCHEDULE: '1h',
    });
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect(503);
    const recorded = await sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken },
      headers: { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'vendor=planted' },
      body: [event({ organization_id: tenant.organization, payload: { note: 'planted-payload' } })],
    });
    expect(recorded.status).toBe(201);
    const first = await receiver.deliveries.nth(1);
    await tenant.settled(webhook);
    receiver.onDelivery = 200;
    await tenant.bringForward(webhook);
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    // What is left is sent before the stop ends.
    await service.stop();

    const { path, key } = collector.requests[0] ?? {};
    expect([path, key]).toEqual(['/v1/traces', 'a b']);
    const [record, delivery, attempt, retry] = ['record', 'delivery', 'attempt', 'attempt'].map(
      (name, index) => collector.spans().filter((span) => span.name === name)[index === 3 ? 1 : 0],
    );
    expect(record).toMatchObject({ traceId, parentSpanId: parentId, status: { code: 0 } });
    expect(delivery).toMatchObject({ traceId, parentSpanId: record?.spanId });
    expect(attempt).toMatchObject({ traceId, parentSpanId: delivery?.spanId, status: { code: 2 } });
    expect(first.headers.traceparent).toBe(`00-${traceId}-${attempt?.spanId}-01`);
    expect(first.headers.tracestate).toBeUndefined();
    const attributes = Object.fromEntries(attempt?.attributes.map(({ key, value }) => [key, value]) ?? []);
    expect(attributes).toMatchObject({
      'posthorn.event_id': { stringValue: recorded.body.data[0].id },
      'posthorn.attempt': { intValue: '1' },
      'http.response.status_code': { intValue: '503' },
    });
    // A retry may happen on another node, which does not know the trace.
    expect(retry).toMatchObject({ parentSpanId: '', status: { code: 0 } });
    const text = collector.requests.map((request) => request.text).join('');
    expect(text).toContain('posthorn-test');
    for (const secret of ['planted', platformToken, tenant.token, receiver.url])
      expect(text).not.toContain(secret);
  });

  it('a collector that fails changes nothing for deliveries, and is logged once', async () => {
    const log = new Log();
    const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, log);
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect();
    await tenant.record();
    await tenant.settled(webhook, 1, ({ status }) => status === 'success');
    await service.stop();
    expect(log.lines.filter(({ msg }) => msg.startsWith('traces '))).toMatchObject([
      {
        msg: 'traces cannot be sent and are dropped until the collector accepts them again',
        reason: expect.any(String),
      },
    ]);
  });
});

describe('without it', () => {
  it('nothing is traced, and no header is added', async () => {
    const tenant = await newTenant(await startTestService());
    const { receiver } = await tenant.connect();
    await tenant.record();
    expect((await receiver.deliveries.nth(1)).headers).not.toHaveProperty('traceparent');
  });
});

it.each([
  [{}, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/x' }, 'http://c/x'],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'http://localhost:4318/v1/traces'],
  [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, undefined],
  [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, undefined],
])('the standard variables decide where traces go: %j', (env: Record<string, string>, url) => {
  expect(otlpTarget(env, '1.0.0')?.url).toBe(url);
});

it.each([
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' },
    /^OTEL_EXPORTER_OTLP_ENDPOINT: .*Expected an http or https URL/,
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '127.0.0.1:4318' }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: .*URL/],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /^OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported\. Expected http\/json/,
  ],
])(
  'a setting for traces that cannot work ends the start with one line: %j',
  (env: Record<string, string>, line) => {
    expect(() => otlpTarget(env, '1.0.0')).toThrow(ConfigError);
    expect(() => otlpTarget(env, '1.0.0')).toThrow(line);
  },
);
