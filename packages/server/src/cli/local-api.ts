import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import type { TokenDirectory } from '../access/auth.js';
import { scopes, type Token } from '../access/token.js';
import { auditEntryJson, earliestAuditMs } from '../audit/audit.js';
import { type AuditFilter, readNewestAudit } from '../audit/audit-store.js';
import { readCatalogue } from '../catalogue/catalogue-store.js';
import type { Database } from '../postgres/database.js';
import { type PublicApiParts, publicTags } from '../public-api.js';
import type { Config } from '../settings/config.js';
import { Notifier } from '../signals/notifier.js';
import { Problem } from '../values/problem.js';
import { createListener } from '../web/listener.js';
import { addRoutes } from '../web/route.js';
import { UnsentBytes } from '../web/unsent-bytes.js';
import { openDatabase, requireHere } from './operator.js';

/** What an operator asks for. Without an organization, this is the audit log of all organizations. */
export type Asked = Omit<AuditFilter, 'organization_id' | 'fromMs'> & {
  organization_id: string | undefined;
  fromMs: number | undefined;
  limit: number;
};

export interface LocalApi {
  fetch: typeof globalThis.fetch;
  /** The last error of a route that the caller could not have expected. */
  failure: unknown;
  close: () => Promise<void>;
}

/** Opens the database and the routes that read it. They listen nowhere, and need no token. */
export async function openLocalApi(config: Config, asked: Asked): Promise<LocalApi> {
  const { database, close } = await openDatabase(config);
  try {
    const { organization_id } = asked;
    if (organization_id !== undefined) await requireHere(database, organization_id);
    const stopping = new AbortController();
    const app = await createReadRoutes(database, config, organization_id, stopping.signal);
    const api: LocalApi = {
      failure: undefined,
      fetch: async (input, init = {}) => {
        const { pathname, search } = new URL(String(input));
        // No token can read the audit log of all organizations, so there is no route for it.
        if (organization_id === undefined) return newestAudit(database, asked);
        const { signal } = init;
        const response = await app.inject({
          url: `${pathname}${search}`,
          headers: init.headers as Record<string, string>,
          payloadAsStream: true,
          ...(signal && { signal }),
        });
        const { statusCode: status, headers } = response;
        const body = Readable.toWeb(response.stream()) as globalThis.ReadableStream;
        return new Response(body, { status, headers: headers as Record<string, string> });
      },
      close: async () => {
        stopping.abort();
        await app.close();
        await close();
      },
    };
    app.addHook('onError', (_request, _reply, error, done) => {
      if (!(error instanceof Problem)) api.failure = error;
      done();
    });
    return api;
  } catch (error) {
    await close();
    throw error;
  }
}

async function createReadRoutes(
  database: Database,
  config: Config,
  organization_id: string | undefined,
  stopping: AbortSignal,
): Promise<FastifyInstance> {
  const app = await createListener({ name: 'public', logger: pino({ level: 'silent' }), bodyLimit: 1 });
  app.addHook('onRequest', (request, _reply, done) => {
    request.token = {
      id: 'operator',
      organization_id,
      workspace_id: null,
      scopes,
    } as Partial<Token> as Token;
    done();
  });
  const { catalogue } = await readCatalogue(database);
  const parts: Partial<PublicApiParts> = {
    config,
    catalogue,
    database,
    now: Date.now,
    stopping,
    eventReads: (work) => work(database),
    recorded: new Notifier(),
    tokens: { allows: async () => true } as Partial<TokenDirectory> as TokenDirectory,
  };
  // Nothing that only reads needs the other parts.
  for (const { routes } of publicTags(parts as PublicApiParts, new UnsentBytes()))
    addRoutes(
      app,
      routes.filter(({ method }) => method === 'GET'),
    );
  return app;
}

async function newestAudit(database: Database, asked: Asked): Promise<Response> {
  const oldestMs = earliestAuditMs(Date.now());
  const filter = { ...asked, fromMs: Math.max(asked.fromMs ?? oldestMs, oldestMs) };
  const { rows } = await readNewestAudit(database, filter, asked.limit + 1);
  const data = rows.map(auditEntryJson).join();
  return new Response(`{"data":[${data}],"meta":{"cursor":null,"has_more":false}}`);
}
