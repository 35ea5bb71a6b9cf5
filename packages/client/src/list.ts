import type { NotDelivered, SearchedPageMeta } from './api.js';
import type { Query, Transport } from './transport.js';

export interface Page<T> {
  /** The results. With `hasMore`, a page of deliveries can be short or empty. */
  data: T[];
  /** Pass it as `cursor` to continue after this page. Null if there is none, as for an empty list. */
  cursor: string | null;
  hasMore: boolean;
  /** How far back a page of deliveries searched, if it ended before it was full. */
  searchedTo?: string;
  /** For the deliveries of an event: the webhooks that did not get it, and why. */
  notDelivered?: readonly NotDelivered[];
}

/** Loads the page at a cursor, or the first page if there is no cursor. */
type Load<T> = (cursor: string | undefined) => Promise<Page<T>>;

/** A list that is loaded page by page while you iterate over it. */
export class List<T> implements AsyncIterable<T> {
  readonly #load: Load<T>;

  constructor(load: Load<T>) {
    this.#load = load;
  }

  /** Returns the first page only. */
  first(): Promise<Page<T>> {
    return this.#load(undefined);
  }

  /** Yields every page. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor: string | undefined;
    for (;;) {
      const page = await this.#load(cursor);
      yield page;
      if (!page.hasMore || page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  /** Yields every result. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /**
   * Loads pages until there are `wanted` results or the list ends, but at most `pagesMax` pages. Returns them as one
   * page, which can have more than `wanted` results. This limits the time if a filter matches only a few out of a large
   * number of deliveries. If `hasMore` is true, continue with the cursor.
   */
  async search(wanted: number, pagesMax: number): Promise<Page<T>> {
    const data: T[] = [];
    let last: Page<T> = { data, cursor: null, hasMore: false };
    let loaded = 0;
    for await (const page of this.pages()) {
      data.push(...page.data);
      last = { ...page, data };
      loaded += 1;
      if (data.length >= wanted || loaded >= pagesMax) break;
    }
    return last;
  }

  /** Returns all results, or the first `max` of them. */
  async all(max = Number.POSITIVE_INFINITY): Promise<T[]> {
    if (max <= 0) return [];
    const { data } = await this.search(max, Number.POSITIVE_INFINITY);
    return data.slice(0, max);
  }
}

/** Returns the list at this path. */
export function listAt<T>(transport: Transport, path: string, query: Query, signal?: AbortSignal): List<T> {
  return new List<T>(async (cursor) => {
    const request = { query: cursor === undefined ? query : { ...query, cursor }, signal };
    const { data, meta } = await transport.json<{
      data: T[];
      meta?: SearchedPageMeta & { not_delivered?: NotDelivered[] };
    }>('GET', path, request);
    return {
      data,
      cursor: meta?.cursor ?? null,
      hasMore: meta?.has_more ?? false,
      ...(meta?.searched_to !== undefined && { searchedTo: meta.searched_to }),
      ...(meta?.not_delivered && { notDelivered: meta.not_delivered }),
    };
  });
}
