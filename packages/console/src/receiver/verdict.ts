import { readRequest, type Verdict, verdictOf } from '@posthorn/receiver/verdict';

/**
 * Returns the verdict of `posthorn verify` on a request, or `unread` if the text is none. A field of a browser has only
 * plain line breaks and may get one more at its end, so the body is also tried with those that it may have had.
 */
export function verdictOn(text: string, secret: string): Verdict | 'unread' {
  const request = readRequest(new TextEncoder().encode(text.trimStart()));
  if (!request) return 'unread';
  const body = new TextDecoder('utf-8', { ignoreBOM: true }).decode(request.body);
  const bodies = new Set([body, body.replace(/\n$/, ''), body.replaceAll('\n', '\r\n')]);
  const verdicts = [...bodies].map((one) =>
    verdictOf({ ...request, body: new TextEncoder().encode(one) }, secret.trim()),
  );
  return verdicts.find(({ ok }) => ok) ?? verdicts[0]!;
}
