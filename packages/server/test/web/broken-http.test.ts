import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { sendRequest } from '../support/client.js';
import { openSocket, type RawResponse, readToEnd, sendRaw } from '../support/raw-http.js';
import { sharedService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

const service = await sharedService();
const listeners = [
  ['public', service.publicUrl],
  ['platform', service.platformUrl],
] as const;

function expectProblem({ headers, body, status }: RawResponse, expected: number): void {
  expect(status).toBe(expected);
  expect(headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(body).toMatchObject({
    status: expected,
    code: 'malformed_request',
    request_id: headers['x-request-id'],
  });
  expect(Object.keys(body)).toEqual(['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id']);
}

describe.each(listeners)('on the %s listener', (_name, url) => {
  it.each<[string, string | Buffer]>([
    [
      'the start of a TLS handshake',
      Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03]),
    ],
    ['words', 'how do you do?\r\n\r\n'],
    ['a method nobody knows', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a version nobody speaks', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a space in the path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n'],
    [
      'both a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk of no length',
      'POST /platform/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
    ],
    ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n'],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s is a 400 problem, and the connection is closed', async (_what, bytes) => {
    expectProblem(await sendRaw(url, bytes), 400);
  });

  it('headers that are too large are a 431 problem', async () => {
    const header = `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(32 * 1024)}\r\n\r\n`;
    expectProblem(await sendRaw(url, header), 431);
  });

  it('a request line that is too large is a 431 problem', async () => {
    expectProblem(await sendRaw(url, `GET /${'x'.repeat(32 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`), 431);
  });

  it('an unknown expectation is ignored', async () => {
    const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: the-unexpected\r\nConnection: close\r\n\r\n';
    expect((await sendRaw(url, request)).status).toBe(200);
  });

  it('HTTP/1.0 and the absolute form of a URL are understood', async () => {
    expect((await sendRaw(url, 'GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200);
    const absolute = `GET ${url}/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect((await sendRaw(url, absolute)).status).toBe(200);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ['is malformed', 'Transfer-Encoding: chunked', (socket) => socket.write('ZZ\r\n')],
    ['is never sent', 'Content-Length: 9', (socket) => socket.end()],
  ])('a refused request gets one response if the rest of it %s', async (_what, header, goOn) => {
    const socket = await openSocket(url);
    const all = readToEnd(socket);
    socket.write(`POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}\r\n\r\n`);
    await once(socket, 'data');
    goOn(socket);
    expect((await all).toString().match(/HTTP\/1\.1 \d+/g)).toEqual([expect.stringMatching(/40[14]$/)]);
  });

  it('others are served while clients abort requests', async () => {
    const begun = 'POST /platform/events HTTP/1.1\r\nHost: x\r\n';
    for (const part of ['POST /platf', begun, `${begun}Content-Length: 9\r\n\r\n{`]) {
      const socket = await openSocket(url);
      socket.write(part);
      socket.destroy();
    }
    expect((await sendRequest(`${url}/healthz`)).status).toBe(200);
  });
});

it('malformed bytes end a response that is being written, without a second one in it', async () => {
  const { organization, token } = await newTenant(service);
  const socket = await openSocket(service.publicUrl);
  const all = readToEnd(socket);
  socket.write(
    `GET /v1/events/tail?organization_id=${organization} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.write('how do you do?\r\n\r\n');
  expect((await all).toString().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});
