import { useId, useState } from 'react';
import type { RangeSearch } from '../range';
import { Chip } from './chip';
import { RangeChip } from './range-chip';
import { RangePicker } from './range-picker';

/** The filters in the URL as chips, a field that adds one, and the time range. */
export function FilterBar<Name extends string>({
  names,
  search,
  label,
  placeholder,
  suggestions,
  onText,
  onSet,
}: {
  /** What each filter is called. */
  names: Record<Name, string>;
  search: RangeSearch & { [name in NoInfer<Name>]?: string };
  label: string;
  placeholder: string;
  suggestions?: string[] | undefined;
  /** Called when text is entered. */
  onText: (text: string) => void;
  onSet: (part: Record<string, string | undefined>) => void;
}) {
  const [text, setText] = useState('');
  const listId = useId();
  return (
    <div className="filters">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) onText(text.trim());
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
      </form>
      <RangePicker search={search} />
      {(Object.keys(names) as Name[]).map((name) => {
        const value = search[name];
        return (
          value && (
            <Chip key={name} name={names[name]} value={value} onRemove={() => onSet({ [name]: undefined })} />
          )
        );
      })}
      <RangeChip
        search={search}
        onRemove={() => onSet({ from: undefined, to: undefined, range: undefined })}
      />
    </div>
  );
}
