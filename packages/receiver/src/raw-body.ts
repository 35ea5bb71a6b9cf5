/** Bodies that adapters read. The service sends at most 8 MiB of payload. */
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
