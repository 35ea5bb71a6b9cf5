/**
 * Programs that verify a request without a package, for readers who have only the API reference. Tests run them
 * against real requests.
 */
export const verifySnippets = {
  typescript: `import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

// body: the raw bytes of the request body.
export function isValid(
  body: Buffer,
  headers: IncomingHttpHeaders,
  secret: string,
): boolean {
  const header = (name: string) => String(headers[name] ?? '');
  const sentAt = Number(header('webhook-timestamp') || NaN);
  if (!(Math.abs(Date.now() / 1000 - sentAt) < 300)) return false;
  const key = secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret);
  if (key.length === 0) return false; // anyone can sign with an empty key
  const digest = createHmac('sha256', key)
    .update(\`\${header('webhook-id')}.\${header('webhook-timestamp')}.\`)
    .update(body)
    .digest('base64');
  const expected = Buffer.from(\`v1,\${digest}\`);
  return header('webhook-signature')
    .split(' ')
    .map((given) => Buffer.from(given))
    .some(
      (given) =>
        given.length === expected.length && timingSafeEqual(given, expected),
    );
}`,

  python: `import base64, hashlib, hmac, re, time

# body: the raw bytes of the request body. headers: a case-insensitive mapping.
def is_valid(body: bytes, headers, secret: str) -> bool:
    sent_at = headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", sent_at):
        return False
    if abs(time.time() - int(sent_at)) > 300:
        return False
    if secret.startswith("whsec_"):
        # Base64 padding may be missing. Python ignores extra padding.
        key = base64.b64decode(secret[len("whsec_"):] + "==")
    else:
        key = secret.encode()
    if not key:  # anyone can sign with an empty key
        return False
    signed = f'{headers.get("webhook-id", "")}.{sent_at}.'.encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    given = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(expected, each) for each in given)`,

  shell: `# body.json: the raw bytes of the request body.
# Prints the value that X-Service-Signature must have.
echo "sha256=$(openssl dgst -sha256 -hmac "$SECRET" < body.json | sed 's/.*= //')"`,
} as const;
