import { formatClock, formatRange } from '../format';
import { zone } from '../preferences';
import type { RangeSearch } from '../range';
import { useStore } from '../store';
import { Chip } from './chip';

/** The two times of a range in the URL. A length that ends now is shown by the range picker. */
export function RangeChip({
  search,
  name = 'time',
  onRemove,
}: {
  search: RangeSearch;
  /** What the range applies to. */
  name?: string;
  onRemove: () => void;
}) {
  const shownZone = useStore(zone);
  if (!search.from) return null;
  const [fromMs, toMs] = [Date.parse(search.from), Date.parse(search.to ?? '')];
  const clock = (iso: string) =>
    Number.isNaN(Date.parse(iso)) ? iso : formatClock(Date.parse(iso), shownZone, Date.now());
  const value = Number.isNaN(fromMs + toMs)
    ? `${clock(search.from)} – ${search.to ? clock(search.to) : 'now'}`
    : formatRange(fromMs, toMs, shownZone, Date.now());
  return <Chip name={name} value={value} onRemove={onRemove} />;
}
