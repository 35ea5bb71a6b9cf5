import { useNavigate } from '@tanstack/react-router';

/** The query of a URL: plain names and values, so that URLs are easy to read and type. */
export type Search = Record<string, string | undefined>;

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  }
  const text = query.toString().replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%2A', '*');
  return text ? `?${text}` : '';
}

/** What carries over from view to view. */
export const carriedNames = ['live', 'workspace_id'] as const;
/** What is open beside a list, which does not change the list. */
export const besideNames = ['open', 'attempt', 'text'] as const;
const rangeNames = ['range', 'from', 'to', 'failed_from'] as const;
const eventNames = ['type', 'subject_type', 'subject_id', 'actor_id', 'action', 'target_id'] as const;
const deliveryNames = ['webhook_id', 'state', 'event_type', 'event_id'] as const;
const viewNames = ['q', 'show', 'tab', 'test', 'framework', 'edit', 'replay', 'only_failed'] as const;
const names = [
  ...[...carriedNames, ...besideNames, ...rangeNames],
  ...[...eventNames, ...deliveryNames, ...viewNames],
];

/** Some of what the query of a URL can have. */
export type SearchOf<K extends (typeof names)[number]> = { [name in K]?: string };

/** Keeps what the console knows of a query, and drops the rest. */
export function keptSearch(search: Search): SearchOf<(typeof names)[number]> {
  return Object.fromEntries(names.flatMap((name) => (search[name] ? [[name, search[name]]] : [])));
}

/** Returns whether the query of a URL has a filter. What carries over from view to view is not one. */
export function hasFilter(search: object): boolean {
  return Object.entries(search).some(
    ([name, value]) => value && !['tab', ...carriedNames, ...besideNames].includes(name),
  );
}

/** Returns a function that changes a part of the query. With `replace`, the way back does not lead through it. */
export function useSetSearch(options: { replace?: boolean } = {}): (part: Search) => void {
  const navigate = useNavigate();
  return (part) =>
    void navigate({
      to: '.',
      search: (now: Search) => ({ ...now, ...part }),
      resetScroll: false,
      ...options,
    });
}
