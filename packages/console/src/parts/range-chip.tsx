import { formatClock } from '../format';
import { zone } from '../preferences';
import { type RangeSearch, rangeLabel } from '../range';
import { useStore } from '../store';
import { Chip } from './chip';

/** The time range in the URL, if there is one. */
export function RangeChip({ search, onRemove }: { search: RangeSearch; onRemove: () => void }) {
  const shownZone = useStore(zone);
  const clock = (iso: string) =>
    Number.isNaN(Date.parse(iso)) ? iso : formatClock(Date.parse(iso), shownZone, Date.now());
  if (search.from) {
    const to = search.to ? clock(search.to) : 'now';
    return <Chip name="time" value={`${clock(search.from)} – ${to}`} onRemove={onRemove} />;
  }
  return search.range ? <Chip name="last" value={rangeLabel(search.range)} onRemove={onRemove} /> : null;
}
