import type { QueryClient } from '@tanstack/react-query';

/** How deep the objects of a response are nested: pages, rows, the event of a delivery. */
const depthMax = 5;

/** Returns the IDs of the events, webhooks and deliveries in what the console has loaded. */
export function loadedIds(client: QueryClient): string[] {
  const ids = new Set<string>();
  const collect = (value: unknown, depth: number): void => {
    if (typeof value === 'string') {
      if (/^(EVT|WHK|WDLV)-[0-9A-Z]{26}$/.test(value)) ids.add(value);
    } else if (typeof value === 'object' && value !== null && depth < depthMax)
      for (const inner of Object.values(value)) collect(inner, depth + 1);
  };
  for (const [, data] of client.getQueriesData({})) collect(data, 0);
  // Events first: the first delivery of an event often has the same ending.
  return [...ids].sort();
}

/** Returns whether a text is the shortened form of an ID, as the console shows it, or its ending. */
export function isShortFor(text: string, id: string): boolean {
  const [start, ending] = text.includes('…') ? text.split('…') : ['', text];
  if (!ending || !/^[0-9A-Z]{4,}$/i.test(ending)) return false;
  return id.startsWith(start?.toUpperCase() ?? '') && id.endsWith(ending.toUpperCase());
}
