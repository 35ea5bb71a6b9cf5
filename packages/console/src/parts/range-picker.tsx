import { useNavigate } from '@tanstack/react-router';
import { type RangeSearch, rangeChoices } from '../range';
import { Segmented } from './segmented';

/** Selects the length of the time range, which is stored in the URL. */
export function RangePicker({ search, fallback }: { search: RangeSearch; fallback?: string }) {
  const navigate = useNavigate();
  return (
    <Segmented
      label="Time range"
      choices={rangeChoices}
      value={(search.from ? undefined : (search.range ?? fallback)) as (typeof rangeChoices)[number]['key']}
      onChange={(range) =>
        void navigate({
          to: '.',
          search: (now) => ({ ...now, range, from: undefined, to: undefined }) as never,
          resetScroll: false,
        })
      }
    />
  );
}
