import { noRange, type RangeSearch, rangeChoices } from '../address/range';
import { useSetSearch } from '../address/search';
import { Segmented } from '../parts/button';
import { t } from '../text/language';

const anyTime = { key: 'any', label: t`Any time` } as const;

/**
 * Selects the length of the time range, which is stored in the URL. Without a fallback, `Any time` is also a choice.
 */
export function RangePicker({ search, fallback }: { search: RangeSearch; fallback?: string }) {
  const set = useSetSearch();
  const choices = fallback === undefined ? [anyTime, ...rangeChoices] : rangeChoices;
  const chosen = search.from ? undefined : (search.range ?? fallback ?? anyTime.key);
  return (
    <Segmented
      label={t`Time range`}
      choices={choices}
      value={choices.find(({ key }) => key === chosen)?.key}
      onChange={(key) => set({ ...noRange, range: key === anyTime.key ? undefined : key })}
    />
  );
}
