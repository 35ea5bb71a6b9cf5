import { useNavigate } from '@tanstack/react-router';
import { type RangeSearch, rangeChoices } from '../address/range';
import { Segmented } from '../parts/segmented';

const anyTime = { key: 'any', label: 'Any time' } as const;

/**
 * Selects the length of the time range, which is stored in the URL. Without a fallback, `Any time` is also a choice.
 */
export function RangePicker({ search, fallback }: { search: RangeSearch; fallback?: string }) {
  const navigate = useNavigate();
  const choices = fallback === undefined ? [anyTime, ...rangeChoices] : rangeChoices;
  const chosen = search.from ? undefined : (search.range ?? fallback ?? anyTime.key);
  return (
    <Segmented
      label="Time range"
      choices={choices}
      value={choices.find(({ key }) => key === chosen)?.key}
      onChange={(key) =>
        void navigate({
          to: '.',
          search: (now) =>
            ({
              ...now,
              range: key === anyTime.key ? undefined : key,
              from: undefined,
              to: undefined,
              failed_from: undefined,
            }) as never,
          resetScroll: false,
        })
      }
    />
  );
}
