import { connect } from 'node:net';
import type pg from 'pg';

const cancelRequest = 80_877_102;
const cancelMsMax = 2_000;

/**
 * Asks the server to cancel the running statement of a connection. Closing the connection is not enough: PostgreSQL
 * notices that only when it sends something, so a statement that waits for a lock would keep waiting, and so would
 * every retry of it.
 */
export function cancelStatement(client: pg.Client): void {
  const { host, port, processID, secretKey } = client as pg.Client & { processID: number; secretKey: number };
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(cancelRequest, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  // Best effort: if the server cannot be reached, the statement keeps running.
  socket.on('error', () => undefined);
  socket.setTimeout(cancelMsMax, () => socket.destroy());
  socket.end(request);
}
