/**
 * A message in a stream of Server-Sent Events. A message without data only sets the last event ID or the time
 * to wait before reconnecting.
 */
export interface Message {
  id: string | undefined;
  data: string | undefined;
  retryMs: number | undefined;
}

/**
 * Yields the messages of a response as they arrive. A comment arrives as a message without fields. `watch` gets the
 * promise of each read, of which a large message needs many.
 */
export async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  watch: <T>(arrival: Promise<T>) => Promise<T>,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await watch(reader.read());
      // Drop a message that was cut off.
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) yield messageOf(block);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function messageOf(block: string): Message {
  const message: Message = { id: undefined, data: undefined, retryMs: undefined };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'id') message.id = value;
    else if (field === 'data')
      message.data = message.data === undefined ? value : `${message.data}\n${value}`;
    else if (field === 'retry' && /^\d+$/.test(value)) message.retryMs = Number(value);
  }
  return message;
}
