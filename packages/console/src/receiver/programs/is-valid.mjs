import { createHmac, timingSafeEqual } from 'node:crypto';

const secret = process.env.WEBHOOK_SECRET ?? '';
const key = secret.startsWith('whsec_')
  ? Buffer.from(secret.slice(6), 'base64')
  : Buffer.from(secret);
if (key.length === 0)
  throw new Error("Set WEBHOOK_SECRET to the webhook's secret.");

function isValid(body, headers) {
  const sentAt = Number(headers['webhook-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - sentAt) < 300)) return false;
  const digest = createHmac('sha256', key)
    .update(`${headers['webhook-id']}.${sentAt}.`)
    .update(body) // the raw bytes, never JSON.stringify(parsed)
    .digest('base64');
  const expected = Buffer.from('v1,' + digest);
  const isExpected = (one) =>
    one.length === expected.length && timingSafeEqual(one, expected);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((one) => Buffer.from(one))
    .some(isExpected);
}
