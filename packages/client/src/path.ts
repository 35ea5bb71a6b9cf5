/** Returns a path with every ID in it escaped: at`/v1/events/${id}`. */
export const at = (strings: TemplateStringsArray, ...ids: string[]) =>
  String.raw({ raw: strings }, ...ids.map(escaped));

/**
 * Escapes an ID. `fetch` removes the segments `.` and `..`, even if they are escaped once, and the request would go to
 * another path. Escaped twice, they are IDs that do not exist.
 */
function escaped(id: string): string {
  return /^\.{1,2}$/.test(id) ? id.replaceAll('.', '%252E') : encodeURIComponent(id);
}
