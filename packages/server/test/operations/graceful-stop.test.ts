import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { drainOnClose } from '../../src/web/connections.js';
import { event } from '../support/client.js';
import { openSocket, parseResponse, readToEnd } from '../support/raw-http.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';

/** Resolves when a listener of this process has the head of the next request. */
function nextRequest(): Promise<void> {
  return new Promise((resolve) => {
    const arrived = () => {
      unsubscribe('http.server.request.start', arrived);
      resolve();
    };
    subscribe('http.server.request.start', arrived);
  });
}

async function untilRefused(url: string): Promise<void> {
  for (;;) {
    try {
      (await openSocket(url)).destroy();
    } catch (error) {
      // One that was already waiting to be accepted is reset; the next is refused.
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED') return;
      expect(code).toBe('ECONNRESET');
    }
  }
}

const head = (length: number) =>
  `POST /platform/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${platformToken}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

describe('when the service stops', () => {
  it('a request in flight is finished, its connection closed, and new ones are refused', async () => {
    const service = await startTestService();
    const body = JSON.stringify(event());
    const socket = await openSocket(service.platformUrl);
    const arrived = nextRequest();
    socket.write(head(body.length) + body.slice(0, 10));
    await arrived;

    const stopped = service.stop();
    await untilRefused(service.platformUrl);
    socket.write(body.slice(10));
    // The client asked to keep the connection; the response is read to its end only because it is closed.
    const response = parseResponse(await readToEnd(socket));
    expect(response.status).toBe(201);
    expect(response.body.data).toHaveLength(1);
    await stopped;
    await untilRefused(service.publicUrl);
  });

  it('an idle keep-alive connection does not delay it', async () => {
    const service = await startTestService();
    const token = await makeToken(service.database);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      request(`${service.publicUrl}/v1/event-types`, { agent, headers }, (response: IncomingMessage) => {
        response.resume().once('end', () => resolve(response.statusCode));
      })
        .once('error', reject)
        .end();
    });
    expect(status).toBe(200);
    await service.stop();
    agent.destroy();
  });

  it('a new request on an open connection is a 503 problem with Retry-After', async () => {
    const service = await startTestService();
    const body = JSON.stringify(event());
    const socket = await openSocket(service.platformUrl);
    const arrived = nextRequest();
    socket.write(head(body.length) + body.slice(0, 10));
    await arrived;
    const stopped = service.stop();
    await untilRefused(service.platformUrl);
    socket.write(`${body.slice(10)}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`);
    const bytes = await readToEnd(socket);
    const second = bytes.lastIndexOf('HTTP/1.1 ');
    expect(parseResponse(bytes.subarray(0, second)).status).toBe(201);
    const response = parseResponse(bytes.subarray(second));
    expect([response.status, response.body?.code]).toEqual([503, 'unavailable']);
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    expect(response.headers.connection).toBe('close');
    await stopped;
  });

  it('stopping twice has no further effect', async () => {
    const service = await startTestService();
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
  });
});

describe('while a listener drains', () => {
  /** A listener that may drain for so long, with a request in flight of which the last byte is missing. */
  async function unfinished(drainMsMax: number) {
    const app = fastify();
    drainOnClose(app, drainMsMax);
    app.post('/', async () => 'done');
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const socket = await openSocket(`http://127.0.0.1:${port}`);
    const arrived = nextRequest();
    const fields = 'Host: x\r\nContent-Type: application/json\r\nContent-Length: 2';
    socket.write(`POST / HTTP/1.1\r\n${fields}\r\n\r\n{`);
    await arrived;
    return { app, socket };
  }

  it('a connection is closed after its response, even with keep-alive', async () => {
    const { app, socket } = await unfinished(600_000);
    const closed = app.close();
    socket.write('}');
    expect(parseResponse(await readToEnd(socket)).text).toBe('done');
    await closed;
  });

  it('a client that never finishes its request is cut off when the time is up', async () => {
    const { app, socket } = await unfinished(1);
    const cutOff = readToEnd(socket).catch(() => undefined);
    await Promise.all([app.close(), cutOff]);
  });
});
