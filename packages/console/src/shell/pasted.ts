import type { QueryClient } from '@tanstack/react-query';

/** The prefixes of Posthorn's own IDs. What follows them is in upper case. */
const ownId = /^(EVT|WHK|WDLV|TOK|RPL|AUD)-[0-9A-Z]{26}$/i;

/** The prefixes that are recognized in lower case too. Any other lower-case text can also be a name. */
const knownPrefix = /^(EVT|WHK|WDLV|TOK|RPL|AUD|WS|USR|AGT)-/i;

/** Removes what text that was copied out of a sentence or a JSON document brings along: quotes, brackets, a full stop. */
export function unquoted(text: string): string {
  return text.replace(/^[\s"'`“”‘’<([]+|[\s"'`“”‘’>)\].,;:]+$/g, '');
}

/** Returns the ID that a text is, in the case that IDs have, or undefined if it is something else. */
export function wholeIdIn(text: string): string | undefined {
  if (!/^[A-Z]{2,6}-[^\s…]+$/i.test(text)) return undefined;
  if (ownId.test(text)) return text.toUpperCase();
  if (knownPrefix.test(text)) return text.replace(/^[^-]+/, (prefix) => prefix.toUpperCase());
  return /^[A-Z]+-/.test(text) ? text : undefined;
}

/** Returns the path and the query of an address of the console, on whatever host, or undefined if it is none. */
export function consoleAddressIn(text: string): string | undefined {
  const base = 'http://localhost';
  if (!/^(https?:\/)?\//.test(text) || !URL.canParse(text, base)) return undefined;
  const { pathname, search } = new URL(text, base);
  return /^\/console(\/|$)/.test(pathname) ? pathname + search : undefined;
}

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
