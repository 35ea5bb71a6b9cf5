import type { Event } from '@posthorn/client';

/** Returns whether an event comes before another one in a list with the newest first. */
export function isNewer(a: Event, b: Event): boolean {
  return a.created_at === b.created_at ? a.id > b.id : a.created_at > b.created_at;
}
