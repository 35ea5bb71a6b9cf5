import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { afterFile } from '../../server/test/support/cleanup.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { freshDirectory } from './support/cli.js';

const service = await sharedService();
const tenant = await newTenant(service);
const { receiver, webhook } = await tenant.connect();
const recorded = await tenant.record();
const [delivery] = await tenant.settled(webhook);

const address = `${service.publicUrl}/cli/posthorn.mjs`;
const response = await fetch(address);
const bytes = Buffer.from(await response.arrayBuffer());
const directory = await freshDirectory();
await writeFile(join(directory, 'posthorn.mjs'), bytes);
// Nothing here leads to the packages of the checkout.
const env = { PATH: process.env.PATH ?? '', HOME: directory };

async function posthorn(args: readonly string[], input = '') {
  const child = spawn(process.execPath, ['posthorn.mjs', ...args], { cwd: directory, env });
  child.stdin.end(input);
  const ended = once(child, 'close');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

test('the service hands out its command line without a token, with a checksum and an ETag', async () => {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  const sum = await (await fetch(`${address}.sha256`)).text();
  expect(sum).toBe(`${createHash('sha256').update(bytes).digest('hex')}  posthorn.mjs\n`);
  const etag = response.headers.get('etag') ?? '';
  expect((await fetch(address, { headers: { 'If-None-Match': etag } })).status).toBe(304);
});

test('the file runs alone in an empty directory: log in, read, send, verify, and serve an agent', async () => {
  expect(await readdir(directory)).toEqual(['posthorn.mjs']);
  const link = `${service.publicUrl}/console#token=${tenant.token}`;
  expect(await posthorn(['login'], link)).toMatchObject({
    code: 0,
    stdout: `Logged in to ${service.publicUrl} for ${tenant.organization}, as profile 'default'.\n`,
  });
  expect((await posthorn(['events', 'list'])).stdout).toContain(recorded.id);
  expect((await posthorn(['deliveries', 'list'])).stdout).toContain(delivery.id);
  const sent = await posthorn([
    'trigger',
    'invoice.paid',
    '--to',
    receiver.url,
    '--secret',
    'a-secret-of-16-ch',
  ]);
  expect(sent).toMatchObject({ code: 0, stderr: '' });
  const { body, headers } = await receiver.deliveries.nth(2);
  const saved = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const verified = await posthorn(
    ['verify', '--secret', 'a-secret-of-16-ch'],
    `${saved.join('')}\r\n${body}`,
  );
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Verified: /) });
  expect((await posthorn(['listen', '--help'])).stdout).toContain('--forward-to');
  expect(await posthorn(['serve'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not installed'),
  });
  const agent = new Client({ name: 'test', version: '1' });
  const place = { command: process.execPath, args: ['posthorn.mjs', 'mcp'], cwd: directory, env };
  await agent.connect(new StdioClientTransport(place));
  afterFile(() => agent.close());
  const { content } = await agent.callTool({ name: 'get_event', arguments: { event_id: recorded.id } });
  expect((content as { text: string }[])[0]?.text).toContain(recorded.id);
});
