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

/** Makes a validator that keeps the named parameters and drops the rest. */
export function keep<K extends string>(...names: K[]) {
  return (search: Search): { [name in K]?: string } => {
    const kept: { [name in K]?: string } = {};
    for (const name of names) if (search[name]) kept[name] = search[name];
    return kept;
  };
}

/** Returns whether the query of a URL has a filter. What carries over from view to view is not one. */
export function hasFilter(search: object): boolean {
  return Object.entries(search).some(
    ([name, value]) => value && !['tab', 'live', 'workspace_id'].includes(name),
  );
}
