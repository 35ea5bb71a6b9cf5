/** The largest body that adapters read by default. The service accepts events of up to 8 MiB over HTTP. */
export const MAX_BYTES = 10 * 1024 * 1024;

export const TOO_LARGE = 'too_large: The body is too large.';

/**
 * Returns all bytes of a stream, or undefined if there are more than `maxBytes`. The rest is read and dropped, because
 * leaving a stream early would close the connection before the response is sent.
 */
export async function collectBytes(
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
