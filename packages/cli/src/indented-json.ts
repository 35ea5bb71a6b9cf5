import { jsonTokens } from './json-tokens.js';

/**
 * Indents JSON for display. It does not parse values, so numbers that are too large for JavaScript stay exact and keys
 * keep their order.
 */
export function indentedJson(json: string): string {
  let text = '';
  let depth = 0;
  let before = '';
  const newLine = () => `\n${'  '.repeat(depth)}`;
  for (const { text: part } of jsonTokens(json)) {
    const opened = before === '{' || before === '[';
    const closes = part === '}' || part === ']';
    if (closes) depth -= 1;
    if (before === ',' || opened !== closes) text += newLine();
    text += part === ':' ? ': ' : part;
    if (part === '{' || part === '[') depth += 1;
    before = part;
  }
  return text;
}
