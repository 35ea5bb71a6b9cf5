/** The longest body that adapters read by default. The service takes events of up to 8 MiB over HTTP. */
export const MAX_BYTES = 10 * 1024 * 1024;

export const TOO_LARGE = 'too_large: The body has too many bytes.';

/**
 * Returns all bytes of a stream, or undefined if there are more than `maxBytes`. The rest is read and dropped: a
 * stream that is left early takes the connection, and with it the response, down.
 */
export async function collected(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes <= maxBytes) kept.push(chunk);
    else kept.length = 0;
  }
  return bytes > maxBytes ? undefined : Buffer.concat(kept);
}
