import { formatClock, formatDay, formatMinute } from '../format';
import { zone } from '../preferences';
import type { RangeSearch } from '../range';
import { useStore } from '../store';
import { Chip } from './chip';

/** The two times of a range in the URL. A length that ends now is shown by the range picker. */
export function RangeChip({ search, onRemove }: { search: RangeSearch; onRemove: () => void }) {
  const shownZone = useStore(zone);
  if (!search.from) return null;
  const nowMs = Date.now();
  const dayOf = (ms: number) => (Number.isNaN(ms) ? '' : formatDay(ms, shownZone));
  // Without the day of both, a range from yesterday until today would look like a few seconds.
  const isToday = [search.from, search.to ?? ''].every((iso) =>
    ['', dayOf(nowMs)].includes(dayOf(Date.parse(iso))),
  );
  const clock = (iso: string) => {
    const ms = Date.parse(iso);
    if (Number.isNaN(ms)) return iso;
    return isToday ? formatClock(ms, shownZone, nowMs) : `${dayOf(ms)} ${formatMinute(ms, shownZone)}`;
  };
  const to = search.to ? clock(search.to) : 'now';
  return <Chip name="time" value={`${clock(search.from)} – ${to}`} onRemove={onRemove} />;
}
