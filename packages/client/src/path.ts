/** Returns a path with every ID in it escaped: at`/v1/events/${id}`. */
export const at = (strings: TemplateStringsArray, ...ids: string[]) =>
  String.raw({ raw: strings }, ...ids.map(encodeURIComponent));
