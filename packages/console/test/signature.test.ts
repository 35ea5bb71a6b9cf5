import { createHmac } from 'node:crypto';
import { sign } from '@posthorn/receiver';
import { signedRequest } from '@posthorn/receiver/testing';
import { expect, it, test } from 'vitest';
import { run } from '../../cli/test/support/cli.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { createSecretKey, createHmac as inBrowser } from '../src/receiver/crypto.js';
import { verdictOn } from '../src/receiver/verdict.js';
import { describeInBrowser } from './support/browser.js';

test('a signature in the browser is the same as in Node, whatever the length of the message and the key', () => {
  for (let length = 0; length < 200; length += 1) {
    const [message, key] = ['ü'.repeat(length), 'k'.repeat(1 + (length % 90))];
    const expected = createHmac('sha256', key).update(message).digest('base64');
    expect(inBrowser('sha256', createSecretKey(key, 'utf8')).update(message).digest('base64')).toBe(expected);
  }
});

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const signed = signedRequest('invoice.paid', { secret, sentAt: new Date(0) });
const pasted = (headers: Record<string, string | undefined>, body = signed.body) =>
  [
    ...Object.entries({ ...signed.headers, ...headers }).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    ),
    '',
    body,
  ].join('\n');
const compact = JSON.stringify(JSON.parse(signed.body));

test.each<[string, string, string?]>([
  ['a signed request', pasted({})],
  ['a saved one, with its request line', `POST /hooks HTTP/1.1\n${pasted({})}`],
  ['JSON with headers and body', JSON.stringify(signed)],
  ['another secret', pasted({}), 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
  ['a secret without its prefix', pasted({}), secret.slice('whsec_'.length)],
  ['a body that was serialized again', pasted({}, JSON.stringify(JSON.parse(compact), null, 2))],
  ['white space at the start of the body', pasted({}, `\ufeff${signed.body}`)],
  ['another body', pasted({}, '{}')],
  ['another length', pasted({ 'content-length': '7' }, '{}')],
  ['no signature', pasted({ 'X-Service-Signature': undefined, 'webhook-signature': undefined })],
  ['only one signature', pasted({ 'webhook-signature': undefined })],
  ['one signature of another body', pasted({ 'X-Service-Signature': `sha256=${'0'.repeat(64)}` })],
  ['a shortened signature', pasted({ 'X-Service-Signature': 'sha256=0', 'webhook-signature': undefined })],
  ['a time that is none', pasted({ 'webhook-timestamp': 'now' })],
])('the console and `posthorn verify` give one verdict on %s', async (_, text, given = secret) => {
  const { stdout } = await run(['verify', '--secret', given, '--any-age', '--json'], {}, text);
  const { partial, ...verdict } = Object(verdictOn(text, given));
  expect(JSON.parse(JSON.stringify(verdict))).toEqual(JSON.parse(stdout));
});

describeInBrowser('the check of a signature', async (open) => {
  const service = await sharedService();

  it('gives the verdicts of the receiver package, and sends nothing', async () => {
    const tenant = await newTenant(service);
    const { receiver, webhook } = await tenant.connect({ status: 401, body: 'invalid signature' });
    await tenant.record();
    const [delivery] = await tenant.settled(webhook, 1);
    const { page, faults } = await open(service.publicUrl);
    const path = `/console/webhooks/${webhook.id}/deliveries/${delivery.id}`;
    await page.goto(`${service.publicUrl}${path}#token=${tenant.token}`);
    // The diagnosis leads to the check. On a phone, the response comes first, and the commands last.
    await page.setViewportSize({ width: 390, height: 844 });
    const tops = ['Response to attempt 1', 'Request of attempt 1', 'Send this again with a signature'].map(
      async (title) => (await page.getByText(title).boundingBox())!.y,
    );
    expect((await Promise.all(tops)).map((top, index, all) => top > (all[index - 1] ?? 0))).not.toContain(
      false,
    );
    await page.getByText('Send this again with a signature').click();
    await page
      .locator('.copy-line', { hasText: `--to '${receiver.url}'` })
      .getByRole('button')
      .waitFor();
    await page.locator('.note').getByRole('link', { name: 'Check a signature…' }).click();
    await page.getByRole('heading', { name: 'Check a signature' }).waitFor();
    const body = '{"id": "EVT-1", "note": "ü"}';
    const headers = sign(body, { id: 'EVT-1', timestamp: new Date(), key: secret });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    const check = async (text: string) => {
      await page.getByLabel('Request').fill(text);
      await page.getByLabel('Signing secret').fill(secret);
      await page.getByRole('button', { name: 'Check', exact: true }).click();
    };
    await check([...lines, '', body].join('\n'));
    await page.getByText('The signature is valid').waitFor();
    await check([...lines, '', JSON.stringify(JSON.parse(body))].join('\n'));
    await page.getByText('signature_mismatch').waitFor();
    await check(body);
    await page.getByText('This is not a request').waitFor();
    expect(sent.filter((url) => url.includes('verify'))).toEqual([]);
    expect(faults).toEqual([]);
  });
});
