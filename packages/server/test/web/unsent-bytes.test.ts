import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { limitUnsentBytes, UnsentBytes } from '../../src/web/unsent-bytes.js';
import { sendRequest } from '../support/client.js';
import { appByOrganization } from '../support/limited-app.js';
import { openSocket } from '../support/raw-http.js';
import { eventually } from '../support/tenant.js';

/** More than the system buffers for a connection. */
const large = 'x'.repeat(16 * 1024 * 1024);
const mebibyte = 1024 * 1024;
const app = appByOrganization();
const limits = { organizationBytesMax: 1.5 * large.length, bytesMax: 2.5 * large.length };
limitUnsentBytes(app, new UnsentBytes(limits));
app.get('/:organization', async (request, reply) => {
  app.server.emit('sent', request.url);
  return reply.type('text/plain').send(large);
});
app.get('/:organization/late', async (_request, reply) => {
  app.server.emit('received', reply.raw);
  await once(app.server, 'released');
  return reply.type('text/plain').send(large);
});
app.addHook('onSend', async (request) => void (request.url.endsWith('/late') && app.server.emit('ready')));
const url = await app.listen({ port: 0, host: '127.0.0.1' });
const statusOf = async (organization: string) => (await sendRequest(`${url}/${organization}`)).status;

async function leaveUnread(organization: string) {
  const socket = await openSocket(url);
  const sent = once(app.server, 'sent');
  socket.pause().write(`GET /${organization} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await sent;
  return socket;
}

test('large responses that nobody reads are limited for each organization and in total, until they are given up', async () => {
  const first = await leaveUnread('ORG-a');
  const refused = await sendRequest(`${url}/ORG-a`);
  expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await statusOf('ORG-b')).toBe(200);
  const second = await leaveUnread('ORG-b');
  expect(await statusOf('ORG-c')).toBe(503);
  first.destroy();
  await eventually(
    () => statusOf('ORG-a'),
    (status) => status === 200,
  );
  second.destroy();
  await eventually(
    () => statusOf('ORG-b'),
    (status) => status === 200,
  );
});

test('the organization that has left the most unread is cut off, oldest response first, instead of refusing another one', () => {
  const unsent = new UnsentBytes({ bytesMax: 8 * mebibyte });
  const responses = new Map<string, ServerResponse>();
  const isHeld = (organization: string, name: string, bytes: number) => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    responses.set(name, response);
    const release = unsent.hold(organization, response, bytes);
    onTestFinished(() => release?.());
    return release !== undefined;
  };
  const cutOff = () => [...responses].filter(([, { destroyed }]) => destroyed).map(([name]) => name);
  // Nothing is gained from cutting off c1, because small parts do not count.
  expect(isHeld('ORG-c', 'c1', 1)).toBe(true);
  expect(isHeld('ORG-a', 'a1', 2 * mebibyte)).toBe(true);
  expect(isHeld('ORG-b', 'b1', mebibyte)).toBe(true);
  expect(isHeld('ORG-c', 'c2', 2 * mebibyte)).toBe(true);
  expect(isHeld('ORG-c', 'c3', 3 * mebibyte)).toBe(true);
  expect(isHeld('ORG-c', 'c4', mebibyte)).toBe(false);
  expect(cutOff()).toEqual([]);
  expect(isHeld('ORG-b', 'b2', mebibyte)).toBe(true);
  expect(cutOff()).toEqual(['c2']);
  // Now there is room for one more of this size, and nobody has more than ORG-d would have with another one.
  expect(isHeld('ORG-d', 'd1', mebibyte)).toBe(true);
  expect(isHeld('ORG-d', 'd2', 3 * mebibyte)).toBe(false);
  expect(cutOff()).toEqual(['c2']);
});

test('nobody is cut off if that would not make enough room', () => {
  const unsent = new UnsentBytes({ bytesMax: 8 * mebibyte });
  const held = (organization: string, bytes: number) => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const release = unsent.hold(organization, response, bytes);
    onTestFinished(() => release?.());
    return { response, isHeld: release !== undefined };
  };
  const others = [
    held('ORG-a', mebibyte),
    held('ORG-a', 3 * mebibyte),
    held('ORG-b', 3 * mebibyte),
    held('ORG-d', mebibyte),
  ];
  // Without its first response, ORG-a would have less unsent than ORG-c, as the others have, and there would be no room.
  expect(held('ORG-c', 3.5 * mebibyte).isHeld).toBe(false);
  expect(others.map(({ response }) => response.destroyed)).toEqual([false, false, false, false]);
});

test('a response that is ready only after its client has left does not count', async () => {
  const leaving = await openSocket(url);
  const received = once(app.server, 'received');
  leaving.write('GET /ORG-left/late HTTP/1.1\r\nHost: x\r\n\r\n');
  const [response] = await received;
  const closed = once(response, 'close');
  leaving.destroy();
  await closed;
  const ready = once(app.server, 'ready');
  app.server.emit('released');
  await ready;
  expect(await statusOf('ORG-left')).toBe(200);
});
