/** Two things on an axis must not cover each other. */
const gapMin = 0.09;

/**
 * Returns places from 0 to 1 for times that are seconds, minutes or hours after a start, each on a line of its own: each
 * ten times as long is as far again.
 */
export function placesOf(sinceMs: readonly number[]): number[] {
  const lengths = sinceMs.map((ms) => Math.log10(1 + Math.max(0, ms) / 1_000));
  const most = Math.max(...lengths, 0.1);
  return lengths.map((length) => length / most);
}

/** Returns the same for ascending times on one line. Places that would be too close are moved apart. */
export function axisOf(sinceMs: readonly number[]): number[] {
  const gap = Math.min(gapMin, 1 / sinceMs.length);
  const places: number[] = [];
  for (const place of placesOf(sinceMs)) places.push(Math.max(place, (places.at(-1) ?? -gap) + gap));
  const end = Math.max(1, places.at(-1) ?? 1);
  return places.map((place) => place / end);
}
