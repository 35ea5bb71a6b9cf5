/** Returns the body of a receiver's response as text to print, without white space around it. */
export function responseText(response: string): string {
  const text = response.trim();
  return isBinary(text) ? '(binary data)' : text;
}

/** Returns whether a body that was decoded as UTF-8 is not text. The service uses the same rule for its diagnosis. */
function isBinary(body: string): boolean {
  const controls = body.match(/(?!\s)\p{Cc}(?!\[)/gu)?.length ?? 0;
  const undecoded = body.match(/\ufffd/g)?.length ?? 0;
  return controls > body.length / 20 || controls + undecoded > body.length / 4;
}
