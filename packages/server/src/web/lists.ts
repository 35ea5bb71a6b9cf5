import type { FastifyReply } from 'fastify';
import Type, { type TObject, type TProperties, type TSchema } from 'typebox';
import type { Page } from '../postgres/keyset.js';
import { bindingOf, decodeCursor, encodeCursor, type Order, type Position } from '../values/cursor.js';
import type { InputFault } from '../values/problem.js';
import { instantPattern, parseInstantMs } from '../values/time.js';
import type { Arrived } from './route.js';
import { closed, optional, PageMeta } from './schemas.js';

export interface TimeRange {
  fromMs: number | undefined;
  toMs: number | undefined;
}

/** Which part of a list a request asks for, apart from the list's own filters. */
export interface ListRequest {
  /** The start is not before the earliest time that the list can return. */
  fromMs: number;
  toMs: number | undefined;
  order: Order;
  /** The position that the cursor stands for. */
  after: Position | undefined;
  limit: number;
  /** Everything that defines the list. A cursor is only valid for the same binding. */
  binding: string;
}

export interface ListOptions<Filters extends TProperties> {
  /** Distinguishes the cursors of this list from those of others. */
  name: string;
  /** What the list belongs to, if its path names it. */
  of?: 'event' | 'webhook';
  filters: Filters;
  /** Adds `from` and `to`. Returns the earliest time that the list can return. */
  earliestMs?: () => number;
  /** Adds `order`. Says what the list contains. */
  ordered?: string;
  /** The default of `limit`. */
  limit: number;
}

/** A date or a time in a request. The route reads it, so that its message says what is wrong. */
export const instant = (description: string, ...examples: string[]) =>
  Type.String({
    description,
    ...(examples.length > 0 && { examples }),
    'x-documented': { pattern: instantPattern },
  });
const edge = (description: string, example: string) =>
  Type.Optional({ ...instant(description, example), minLength: 1 });

export const timeRange = {
  from: edge(
    'Start of the time range, inclusive: a date, or a time with `Z` or an offset. A date starts at 00:00 UTC.',
    '2026-11-01',
  ),
  to: edge(
    'End of the time range, inclusive: a date, or a time with `Z` or an offset. A date ends at 23:59:59.999 UTC.',
    '2026-11-30T12:00:00Z',
  ),
} as const;

const orderParameter = (what: string) =>
  Type.Enum(['desc', 'asc'], {
    default: 'desc',
    description:
      `\`desc\`: newest first. \`asc\`: oldest first; if you keep following the cursor, you get every ` +
      `${what} exactly once.`,
  });

const pageParameters = (limit: number) => ({
  cursor: Type.String({
    minLength: 1,
    maxLength: 500,
    description: '`meta.cursor` of the previous page. The filters must be the same.',
    examples: ['ELpE78cQ9KG_AQGh3T-Uin4'],
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: limit,
    description: 'Maximum number of results.',
  }),
});

/** Returns the query and the input of a route that returns a list in pages. */
export function list<Filters extends TProperties>(options: ListOptions<Filters>) {
  const { name, of, filters, earliestMs, ordered, limit: defaultLimit } = options;
  const properties = {
    ...filters,
    ...(earliestMs && timeRange),
    ...optional({
      ...(ordered !== undefined && { order: orderParameter(ordered) }),
      ...pageParameters(defaultLimit),
    }),
  };
  const given = ['organization_id', 'workspace_id', ...Object.keys(filters)];
  const input = ({ request, query }: Arrived, faults: InputFault[]): ListRequest => {
    const { fromMs, toMs } = earliestMs ? readRange(query, faults) : { fromMs: undefined, toMs: undefined };
    const order = (query.order as Order | undefined) ?? 'desc';
    // On the platform listener, requests have no token.
    const { token } = request as { token?: typeof request.token };
    const parts: Record<string, string | number | undefined> = {
      organization_id: token?.organization_id,
      workspace_id: token?.workspace_id ?? undefined,
      of,
      from: fromMs,
      to: toMs,
      order: ordered === undefined ? undefined : order,
    };
    for (const filter of given) parts[filter] = (query[filter] as string | undefined) ?? parts[filter];
    const binding = bindingOf(name, Object.assign(parts, request.params));
    const { cursor, limit = defaultLimit } = query;
    const after = typeof cursor === 'string' ? decodeCursor(cursor, binding) : undefined;
    if (typeof cursor === 'string' && cursor !== '' && !after) faults.push(invalidCursor);
    const earliest = earliestMs?.() ?? 0;
    return {
      fromMs: Math.max(fromMs ?? earliest, earliest),
      toMs,
      order,
      after,
      limit: limit as number,
      binding,
    };
  };
  return {
    query: closed(properties) as unknown as TObject<Filters>,
    input,
  };
}

const invalidCursor: InputFault = {
  parameter: 'cursor',
  code: 'invalid_cursor',
  detail:
    'must be the meta.cursor of a response with the same filters and order; start again without a cursor',
};

/** Reads `from` and `to` of a query or a body, and adds what is wrong with them to the faults. */
export function readRange(
  given: Arrived['query'],
  faults: InputFault[],
  place: 'query' | 'body' = 'query',
): TimeRange {
  const at = (name: string) => (place === 'query' ? { parameter: name } : { pointer: `/${name}` });
  const edge = (name: 'from' | 'to', which: 'start' | 'end') => {
    const text = given[name];
    // The schema of a query refuses an empty value.
    if (typeof text !== 'string' || (text === '' && place === 'query')) return undefined;
    const ms = parseInstantMs(text, which);
    const detail = place === 'query' ? unreadable(text) : readableTime;
    if (ms === undefined) faults.push({ ...at(name), code: 'unreadable_time', detail });
    return ms;
  };
  const [fromMs, toMs] = [edge('from', 'start'), edge('to', 'end')];
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    faults.push({ ...at('from'), code: 'from_after_to', detail: "must not be later than 'to'" });
  return { fromMs, toMs };
}

const readableTime = 'must be a date (2026-11-15) or a time with Z or an offset (2026-11-15T09:30:00Z)';

/**
 * Returns what is wrong with a time that cannot be read. In a query string, a `+` stands for a space, so an offset such
 * as `+01:00` arrives without its sign.
 */
function unreadable(text: string): string {
  const isWithoutSign = text.includes(' ') && parseInstantMs(text.replace(' ', '+'), 'start') !== undefined;
  return isWithoutSign ? `${readableTime}; in a URL, write the + of the offset as %2B` : readableTime;
}

/** Returns the schema of a page. */
export function pageSchema(item: TSchema, meta: TSchema = PageMeta) {
  return Type.Object({ data: Type.Array(item), meta });
}

/** Returns a page as the API shows it. */
export function pageBody<Row>(
  { rows, next, hasMore }: Page<Row>,
  { binding }: ListRequest,
  bodyOf: (row: Row) => object,
) {
  const cursor = next ? encodeCursor(next, binding) : null;
  return { data: rows.map(bodyOf), meta: { cursor, has_more: hasMore } };
}

/** Sends a page whose rows are already JSON texts. */
export function sendPage(
  reply: FastifyReply,
  rows: readonly string[],
  page: Omit<Page<unknown>, 'rows'>,
  request: ListRequest,
): FastifyReply {
  const { meta } = pageBody({ ...page, rows: [] }, request, Object);
  return reply
    .type('application/json; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .send(`{"data":[${rows.join(',')}],"meta":${JSON.stringify(meta)}}`);
}
