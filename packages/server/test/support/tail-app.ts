import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { eventJson } from '../../src/events/event.js';
import { Horizons } from '../../src/events/event-store.js';
import { type TailOptions, tailRoute } from '../../src/events/tail-routes.js';
import { Notifier } from '../../src/signals/notifier.js';
import { addRoutes } from '../../src/web/route.js';
import { limitUnsentBytes, UnsentBytes } from '../../src/web/unsent-bytes.js';
import { appByOrganization } from './limited-app.js';
import { openSocket } from './raw-http.js';

/** A read of a page of events that waits until the test finishes it. */
export interface TailRead {
  organization: string;
  values: readonly unknown[];
  /** Returns one event with a payload of this length, or none. */
  finish: (payloadLength?: number) => void;
}

/** A listener with only the tail, whose reads wait for the test instead of a database. */
export async function startTailApp({ unsent = new UnsentBytes(), ...options }: Partial<TailOptions> = {}) {
  const arrivals = new EventEmitter();
  const reads: TailRead[] = [];
  const query = ({ name, values }: { name: string; values: unknown[] }) => {
    if (name === 'event horizon') return { rows: [{ horizon: new Date(1_000) }] };
    return new Promise((resolve) => {
      const finish = (payloadLength?: number) => {
        const texts = payloadLength === undefined ? null : eventOf(String(values[0]), payloadLength);
        resolve({ rows: [{ texts, found: texts === null ? 0 : 1 }] });
      };
      reads.push({ organization: String(values[0]), values, finish });
      arrivals.emit('read');
    });
  };
  const database = { query } as never;
  const app = appByOrganization();
  app.setValidatorCompiler(() => () => true);
  // Each token has an organization of its own.
  app.addHook('onRequest', async (request) => {
    const organization = String((request.query as Record<string, unknown>).organization_id);
    request.token = { id: `TOK-${organization}`, organization_id: organization } as never;
  });
  limitUnsentBytes(app, unsent);
  app.get('/large', (_request, reply) => reply.type('text/plain').send('x'.repeat(1024 * 1024)));
  const route = tailRoute({
    database,
    eventReads: (work) => work(database),
    horizons: new Horizons(database),
    now: () => 0,
    earliestMs: () => 0,
    recorded: new Notifier(),
    isStillAllowed: async () => true,
    stopping: new AbortController().signal,
    readsMax: 1,
    unsent,
    ...options,
  });
  addRoutes(app, [route]);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });

  /** Resolves with the next read that has not been waited for. */
  async function nextRead(): Promise<TailRead> {
    while (reads.length === 0) await once(arrivals, 'read');
    return reads.shift()!;
  }

  /** Opens a tail and reads only its beginning. Its first page is being read by then. */
  async function openTail(organization: string): Promise<Socket> {
    const socket = await openSocket(url);
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(
      `GET /v1/events/tail?organization_id=${organization} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    await once(socket, 'readable');
    return socket;
  }

  return { app, url, reads, nextRead, openTail };
}

function eventOf(organization: string, payloadLength: number): string {
  return eventJson({
    ...{ id: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3', type: 'invoice.paid' },
    ...{ organization_id: organization, workspace_id: null, actor_type: 'user', actor_id: 'USR-ada' },
    ...{ subject_type: 'invoice', subject_id: 'INV-1', payload: `"${'x'.repeat(payloadLength)}"` },
    created_at: new Date(0),
  });
}
