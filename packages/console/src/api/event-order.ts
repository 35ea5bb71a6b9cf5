type Listed = { id: string; created_at: string };

/** Returns whether an event or a delivery comes before another one in a list with the newest first. */
export function isNewer(a: Listed, b: Listed): boolean {
  return a.created_at === b.created_at ? a.id > b.id : a.created_at > b.created_at;
}
