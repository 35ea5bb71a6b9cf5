import { createHmac } from 'node:crypto';
import { sign } from '@posthorn/receiver';
import { expect, it, test } from 'vitest';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { createSecretKey, createHmac as inBrowser } from '../src/views/receiver/crypto.js';
import { describeInBrowser } from './support/browser.js';

test('a signature in the browser is the same as in Node, whatever the length of the message and the key', () => {
  for (let length = 0; length < 200; length += 1) {
    const [message, key] = ['ü'.repeat(length), 'k'.repeat(1 + (length % 90))];
    const expected = createHmac('sha256', key).update(message).digest('base64');
    expect(inBrowser('sha256', createSecretKey(key, 'utf8')).update(message).digest('base64')).toBe(expected);
  }
});

describeInBrowser('the check of a signature', async (open) => {
  const service = await sharedService();

  it('gives the verdicts of the receiver package, and sends nothing', async () => {
    const tenant = await newTenant(service);
    const { page, faults } = await open(service.publicUrl);
    await page.goto(`${service.publicUrl}/console/verify#token=${tenant.token}`);
    await page.getByRole('heading', { name: 'Check a signature' }).waitFor();
    const [secret, body] = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '{"id": "EVT-1", "note": "ü"}'];
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
