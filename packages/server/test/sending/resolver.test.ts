import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createResolver } from '../../src/sending/resolver.js';

const typeA = 1;

/** A name server on loopback that returns 203.0.113.7 for every name it knows and is not silent about. */
async function startNameServer(
  isSilent: (name: string) => boolean,
  isKnown: (name: string) => boolean = () => true,
) {
  const queried: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, end } = questionOf(query);
    queried.push(name);
    if (!isSilent(name)) socket.send(answerTo(query, end, isKnown(name)), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, queried };
}

function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const length = query[at]!;
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 5 };
}

/** One address for a question about IPv4, an empty answer for every other. */
function answerTo(query: Buffer, end: number, isKnown: boolean): Buffer {
  const wantsAddress = isKnown && query.readUInt16BE(end - 4) === typeA;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(wantsAddress ? 1 : 0, 6);
  head.writeUInt16BE(0, 10);
  const address = Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 7]);
  return Buffer.concat([head, query.subarray(12, end), wantsAddress ? address : Buffer.alloc(0)]);
}

describe('names', () => {
  test('with unresponsive servers do not block other names, however many there are', async () => {
    const server = await startNameServer((name) => name.endsWith('silent.example'));
    const resolve = createResolver({ servers: [server.address], search: [], tryMs: 500 });
    let ended = 0;
    const silent = Array.from({ length: 40 }, (_, n) =>
      resolve(`n${n}.silent.example`).catch(() => {
        ended += 1;
      }),
    );
    expect(await resolve('receiver.example')).toEqual(['203.0.113.7']);
    expect(ended).toBe(0);
    await Promise.all(silent);
    expect(ended).toBe(40);
  });

  test('that several connections need at once are queried once', async () => {
    const server = await startNameServer(() => false);
    const resolve = createResolver({ servers: [server.address], search: [] });
    await Promise.all(Array.from({ length: 10 }, () => resolve('receiver.example')));
    // Once for each family of addresses.
    expect(server.queried).toEqual(['receiver.example', 'receiver.example']);
  });

  test('that are not found as given are looked up in the search domains of the machine', async () => {
    const server = await startNameServer(
      () => false,
      (name) => name === 'hook.team.svc.cluster.example',
    );
    const resolve = createResolver({
      servers: [server.address],
      search: ['team.example', 'cluster.example'],
    });
    const found = await resolve('hook.team.svc');
    expect([[...found], found.areInternal]).toEqual([['203.0.113.7'], true]);
    expect([...new Set(server.queried)]).toEqual([
      ...['hook.team.svc', 'hook.team.svc.team.example', 'hook.team.svc.cluster.example'],
    ]);
    await expect(resolve('hook.team.svc.')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test.each([
    ['hook.team.svc.cluster.example', true],
    ['db.corp.internal', true],
    ['printer.local', true],
    ['receiver.example', undefined],
  ])(
    'that belong to a private network are internal, however they are written (%s)',
    async (name, isInternal) => {
      const server = await startNameServer(() => false);
      const resolve = createResolver({ servers: [server.address], search: ['cluster.example'] });
      expect((await resolve(name)).areInternal).toBe(isInternal);
    },
  );

  test('of the machine itself are not sent to a name server', async () => {
    const server = await startNameServer(() => false);
    const resolve = createResolver({ servers: [server.address], search: [] });
    const addresses = await resolve('localhost');
    expect(['127.0.0.1', '::1']).toEqual(expect.arrayContaining([...addresses]));
    expect(addresses.areInternal).toBe(true);
    expect(server.queried).toEqual([]);
  });
});
