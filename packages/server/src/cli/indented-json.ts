const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/**
 * JSON laid out for people. It moves tokens and never reads them, so that numbers beyond what JavaScript
 * can hold stay as they are and keys keep their order.
 */
export function indentedJson(json: string): string {
  let text = '';
  let depth = 0;
  let before = '';
  const newLine = () => `\n${'  '.repeat(depth)}`;
  for (const [part] of json.matchAll(token)) {
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
