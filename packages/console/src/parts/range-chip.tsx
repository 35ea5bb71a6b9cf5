import { formatClock } from '../format';
import { zone } from '../preferences';
import type { RangeSearch } from '../range';
import { useStore } from '../store';
import { Chip } from './chip';

/** The two times of a range in the URL. A length that ends now is shown by the range picker. */
export function RangeChip({ search, onRemove }: { search: RangeSearch; onRemove: () => void }) {
  const shownZone = useStore(zone);
  const clock = (iso: string) =>
    Number.isNaN(Date.parse(iso)) ? iso : formatClock(Date.parse(iso), shownZone, Date.now());
  if (!search.from) return null;
  const to = search.to ? clock(search.to) : 'now';
  return <Chip name="time" value={`${clock(search.from)} – ${to}`} onRemove={onRemove} />;
}
