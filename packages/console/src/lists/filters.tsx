import { useSearch } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { useFieldValue } from '../address/field-value';
import { noRange, type RangeSearch, rangeChoices } from '../address/range';
import { useSetSearch } from '../address/search';
import { useZone } from '../browser/preferences';
import { Button, Segmented } from '../parts/button';
import { Form } from '../parts/form';
import { IconButton } from '../parts/icon';
import { formatClock, formatRange } from '../text/format';
import { t } from '../text/language';

/** The filters in the URL as chips, a field that adds one, and the time range. */
export function FilterBar<Name extends string>({
  names,
  search,
  label,
  placeholder,
  suggestions,
  filterFor,
  onId,
}: {
  /** What each filter is called. */
  names: Record<Name, string>;
  search: RangeSearch & { [name in NoInfer<Name>]?: string };
  label: string;
  placeholder: string;
  suggestions?: string[] | undefined;
  /** Returns which filter a text is for. */
  filterFor: (text: string) => Name;
  /** Opens what the text is the ID of. Returns a false value if it is none. */
  onId?: (text: string) => unknown;
}) {
  const set = useSetSearch();
  const [text, setText] = useState('');
  const listId = useId();
  return (
    <div className="filters">
      <Form
        onSubmit={() => {
          const entered = text.trim();
          if (entered && !onId?.(entered)) set({ [filterFor(entered)]: entered });
          setText('');
        }}
      >
        <input
          data-filter
          className="filter-input"
          type="search"
          list={listId}
          aria-label={label}
          placeholder={placeholder}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <datalist id={listId}>
          {suggestions?.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </Form>
      <RangePicker search={search} />
      {(Object.keys(names) as Name[]).map((name) => {
        const value = search[name];
        return (
          value && (
            <Chip key={name} name={names[name]} value={value} onRemove={() => set({ [name]: undefined })} />
          )
        );
      })}
      <RangeChip search={search} name={t`time`} />
    </div>
  );
}

/** The field that `/` focuses. What is typed is kept in the URL as `q`. */
export function FilterInput({ label, placeholder }: { label: string; placeholder: string }) {
  const value = useSearch({ strict: false, select: ({ q = '' }) => q });
  const set = useSetSearch({ replace: true });
  const field = useFieldValue(value, (q) => set({ q }));
  return (
    <input
      data-filter
      className="filter-input"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={field.value}
      onChange={(event) => field.change(event.target.value)}
    />
  );
}

/** A choice that is kept in the URL, by its name there. */
export function FilterSelect({
  name,
  label,
  value,
  options,
  all,
}: {
  name: 'webhook_id' | 'event_type' | 'test';
  label: string;
  value: string | undefined;
  options: readonly { value: string; name?: string | undefined }[];
  /** What the choice without a value is called. Only with it, `/` can focus the field. */
  all?: string;
}) {
  const set = useSetSearch({ replace: !all });
  const field = useFieldValue(value ?? '', (chosen) => set({ [name]: chosen || undefined }));
  return (
    <select
      data-filter={all && true}
      className="filter-select"
      aria-label={label}
      value={field.value}
      onChange={(event) => field.change(event.target.value)}
    >
      {all && <option value="">{all}</option>}
      {/* The URL may have a value that does not exist any more. */}
      {all && value && !options.some((one) => one.value === value) && <option value={value}>{value}</option>}
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.name ?? one.value}
        </option>
      ))}
    </select>
  );
}

/** The filters of a list. On a narrow screen, they are behind a button that says how many of them apply. */
export function FilterSheet({ applied, children }: { applied: number; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={isOpen ? 'filter-sheet open' : 'filter-sheet'}>
      <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {applied > 0 ? t`Filters (${applied})` : t`Filters`}
      </Button>
      {children}
    </div>
  );
}

/** An active filter, with a button that removes it. */
export function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <span className="chip">
      <span className="cut" title={value}>
        {name && `${name} `}
        <b className="mono">{value}</b>
      </span>
      <IconButton
        label={name ? t`Remove the filter ${name} ${value}` : t`Remove ${value}`}
        size={12}
        onClick={onRemove}
      />
    </span>
  );
}

/** The two times of a range in the URL. A length that ends now is shown by the range picker. */
export function RangeChip({ search, name }: { search: RangeSearch; name: string }) {
  const set = useSetSearch();
  const shownZone = useZone();
  if (!search.from) return null;
  const [fromMs, toMs] = [Date.parse(search.from), Date.parse(search.to ?? '')];
  const clock = (iso: string) =>
    Number.isNaN(Date.parse(iso)) ? iso : formatClock(Date.parse(iso), shownZone, Date.now());
  const value = Number.isNaN(fromMs + toMs)
    ? `${clock(search.from)} – ${search.to ? clock(search.to) : t`now`}`
    : formatRange(fromMs, toMs, shownZone, Date.now());
  return <Chip name={name} value={value} onRemove={() => set(noRange)} />;
}

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
