import { t } from '../text/language';

const lengthMax = 200;

/**
 * Returns the start of a response for a line among others: long runs of one character are shortened, and bytes that are
 * not text are named. The response itself is shown elsewhere, exactly as it came.
 */
export function excerptOf(response: string): string {
  const text = response.replaceAll(/(\S)\1{11,}/gu, (_run, one: string) => `${one.repeat(4)}…`);
  return isBinary(response) ? t`(binary data)` : text.slice(0, lengthMax);
}

/** Returns whether a body that was decoded as UTF-8 is not text, by the same rule as the service. */
function isBinary(body: string): boolean {
  const controls = body.match(/(?!\s)\p{Cc}(?!\[)/gu)?.length ?? 0;
  const undecoded = body.match(/\ufffd/g)?.length ?? 0;
  return controls > body.length / 20 || controls + undecoded > body.length / 4;
}
