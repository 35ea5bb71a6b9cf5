/** The service and `forward` keep 1 KiB of a body, without a truncated character of up to 3 bytes at the end. */
const cutBytes = 1_024 - 3;

/**
 * Returns the body of a receiver's response as text to print, without white space around it. If the body may have been
 * cut, the text says so: otherwise, it would look like what the receiver sent.
 */
export function responseText(response: string): string {
  const text = response.trim();
  if (isBinary(text)) return '(binary data)';
  // A byte that is not text was decoded to a character of three bytes.
  const isCut = Buffer.byteLength(response.replaceAll('\ufffd', '?')) >= cutBytes;
  return isCut ? `${text}… (only the first 1 KiB is shown)` : text;
}

/** Returns whether a body that was decoded as UTF-8 is not text. The service uses the same rule for its diagnosis. */
function isBinary(body: string): boolean {
  const controls = body.match(/(?!\s)\p{Cc}(?!\[)/gu)?.length ?? 0;
  const undecoded = body.match(/\ufffd/g)?.length ?? 0;
  return controls > body.length / 20 || controls + undecoded > body.length / 4;
}
