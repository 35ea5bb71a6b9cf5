import { mkdtemp, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant, type Tenant } from '../../server/test/support/tenant.js';
import { saveRequest } from '../src/webhook-request.js';
import { linesOf, run } from './support/cli.js';

const service = await sharedService();

/** Clears the screen, sets the title, writes to the clipboard, reverses the text and hides it. `\u009b` is a short form of `ESC [`. */
const hostile =
  '\u001b[2J\u001b]0;title\u0007\u001b]52;c;cm0gLXJm\u0007\rover\u009b2J\u007f\u202e\u001b[8mhidden';
const harmless =
  '\\u001b[2J\\u001b]0;title\\u0007\\u001b]52;c;cm0gLXJm\\u0007\\u000dover\\u009b2J\\u007f\\u202e\\u001b[8mhidden';
/** What a terminal would act on, other than the colors that the command line uses. */
const acted = /(?!\n|\t)[\p{Cc}\p{Bidi_Control}](?!\[([12]|22|3\d)m)/u;
const text = `This receiver responds with plain text that ends with what controls a terminal, and one more line: ${hostile}`;
const image = Buffer.from('89504e470d0a1a0a0000000d494844520000001000000010080200000090916836', 'hex');

let tenant: Tenant;
let env: Record<string, string>;
beforeAll(async () => {
  tenant = await newTenant(service);
  env = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token, TERM: 'xterm' };
});

describe.each([
  ['on a terminal', true],
  ['in a pipe', false],
])('%s', (_where, isTerminal) => {
  const printed = async (...args: string[]) => {
    const { stdout, stderr } = await run(args, env, '', isTerminal);
    const all = stdout.replaceAll('\r\u001b[2K', '') + stderr;
    expect(all, args.join(' ')).not.toMatch(acted);
    return all;
  };
  const triggered = (url: string) =>
    printed('trigger', 'invoice.paid', '--to', url, '--secret', 'a-secret-of-16-characters-or-more');

  test('control characters in a response are printed as escapes', async () => {
    const { receiver, webhook } = await tenant.connect({ status: 500, body: `${text}\r\n[1m bye` });
    expect(await triggered(receiver.url)).toContain(`${harmless}\n[1m bye`);
    expect(await printed('webhooks', 'test', webhook.id)).toContain(`${harmless}\n[1m bye`);
    await tenant.record();
    const [delivery] = await tenant.settled(webhook);
    expect(await printed('deliveries', 'get', delivery.id)).toContain(`${harmless}\n[1m bye`);
    const exact = JSON.parse(await printed('deliveries', 'get', delivery.id, '--json'));
    expect(exact.attempt_log[0].response).toBe(`${text}\r\n[1m bye`);
  });

  test('a binary response is not printed', async () => {
    const { receiver, webhook } = await tenant.connect({ status: 200, body: image });
    expect(await triggered(receiver.url)).toContain('The receiver responded: (binary data)\n');
    expect(await printed('webhooks', 'test', webhook.id)).toContain(
      'The receiver responded: (binary data)\n',
    );
  });

  test('the description of a webhook cannot add rows, cells or fields', async () => {
    const { webhook } = await tenant.connect(200, { description: `one\ntwo\tthree ${hostile}` });
    const listed = linesOf(await printed('webhooks', 'list'));
    expect(listed.filter((line) => line.startsWith('two'))).toEqual([]);
    expect(listed.find((line) => line.includes(webhook.id))).toContain('one two three');
    const shown = linesOf(await printed('webhooks', 'get', webhook.id));
    expect(shown.filter((line) => line.startsWith('two'))).toEqual([]);
  });

  test('control characters in an event are printed as escapes, and JSON stays the same', async () => {
    const payload = { note: hostile };
    const { id } = await tenant.record({ payload });
    expect(await printed('events', 'get', id)).toContain('over\\u009b2J\\u007f');
    expect(JSON.parse(await printed('events', 'get', id, '--json')).payload).toEqual(payload);
  });
});

test('a request is saved in the given directory, whatever ID the service sends', async () => {
  const directory = join(await mkdtemp(join(inject('runDirectory'), 'saved-')), 'requests');
  const file = await saveRequest(directory, '../../escaped', 'POST / HTTP/1.1');
  expect([dirname(file), await readdir(directory)]).toEqual([directory, ['..%2F..%2Fescaped.http']]);
});
