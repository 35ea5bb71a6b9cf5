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

/** What a view keeps in the query, by the names of its parameters. */
export type SearchOf<K extends string> = { [name in K]?: string };

/** Makes a validator that keeps the named parameters and drops the rest. */
export function keep<K extends string>(...names: K[]) {
  return (search: Search): SearchOf<K> => {
    const kept: SearchOf<K> = {};
    for (const name of names) if (search[name]) kept[name] = search[name];
    return kept;
  };
}

/** What is open beside a list, which does not change the list. */
export const besideNames = ['open', 'attempt', 'text'] as const;

/** Returns whether the query of a URL has a filter. What carries over from view to view is not one. */
export function hasFilter(search: object): boolean {
  return Object.entries(search).some(
    ([name, value]) => value && !['tab', 'live', 'workspace_id', ...besideNames].includes(name),
  );
}

/** Returns a function that changes a part of the query. With `replace`, the way back does not lead through it. */
export function useSetSearch(options: { replace?: boolean } = {}): (part: Search) => void {
  const navigate = useNavigate();
  return (part) =>
    void navigate({
      to: '.',
      search: ((now: Search) => ({ ...now, ...part })) as never,
      resetScroll: false,
      ...options,
    });
}
