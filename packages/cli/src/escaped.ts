const colorOrControl = /(?![\t\n])(?:\p{Cc}\[\d+m|[\p{Cc}\p{Bidi_Control}])/gu;

/**
 * Returns the text with every control character as `\u001b`, except tabs, line breaks and the color sequences in
 * `kept`. Otherwise, what a receiver responds, or what somebody wrote into an event, could move the cursor, clear the
 * screen, write to the clipboard or reverse the text after it. The meaning of JSON stays the same.
 */
export function escaped(text: string, kept: ReadonlySet<string> = new Set()): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(colorOrControl, (found) =>
      kept.has(found) ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`,
    );
}
