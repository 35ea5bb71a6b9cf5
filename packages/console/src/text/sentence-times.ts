/** A part of a sentence: text, or a time in it as the API writes it. */
export type SentencePart = string | { at: string; text: string };

/** `18 Nov 2026 20:41:07 UTC` */
const timePattern = /\b(\d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} UTC)\b/;
const quoteStart = '; its response ';

/**
 * Splits a sentence with which the API explains a failed attempt at the times in it. Leaves alone what it quotes from
 * the receiver's response.
 */
export function splitAtTimes(sentence: string): SentencePart[] {
  const quote = sentence.indexOf(quoteStart);
  const own = quote < 0 ? sentence : sentence.slice(0, quote);
  const parts = own.split(timePattern).map((text, index) => {
    const atMs = index % 2 === 1 ? Date.parse(text) : Number.NaN;
    return Number.isNaN(atMs) ? text : { at: new Date(atMs).toISOString(), text };
  });
  return [...parts, sentence.slice(own.length)].filter((part) => part !== '');
}
