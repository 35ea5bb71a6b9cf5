import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { eventTypesQuery } from '../../api/events';
import { Chip } from '../../parts/chip';
import { RangeChip } from '../../parts/range-chip';
import { RangePicker } from '../../parts/range-picker';

export interface EventSearch {
  type?: string;
  subject_type?: string;
  subject_id?: string;
  actor_id?: string;
  workspace_id?: string;
  range?: string;
  from?: string;
  to?: string;
}

const names = {
  type: 'type',
  subject_type: 'subject type',
  subject_id: 'subject',
  actor_id: 'actor',
  workspace_id: 'workspace',
} as const;
type Name = keyof typeof names;

/** Guesses which filter a text is for: `USR-…` is an actor, `INV-…` a subject, `a.b` a type. */
function filterFor(text: string): Name {
  if (/^(USR|AGT)-/.test(text)) return 'actor_id';
  if (/^WS-/.test(text)) return 'workspace_id';
  if (/^[A-Z]+-/.test(text)) return 'subject_id';
  return text.includes('.') ? 'type' : 'subject_type';
}

/** The filters of the address as chips, and a field that adds one. */
export function EventFilters({ search }: { search: EventSearch }) {
  const navigate = useNavigate();
  const { data: types } = useQuery(eventTypesQuery);
  const [text, setText] = useState('');
  const set = (part: { [name in keyof EventSearch]: string | undefined }) =>
    void navigate({ to: '/events', search: (now) => ({ ...now, ...part }) as never, resetScroll: false });
  return (
    <div className="filters">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const value = text.trim();
          if (!value) return;
          if (/^EVT-/.test(value)) void navigate({ to: '/events/$eventId', params: { eventId: value } });
          else set({ [filterFor(value)]: value });
          setText('');
        }}
      >
        <input
          data-filter
          className="filter-input"
          type="search"
          list="event-type-names"
          aria-label="Add a filter: a type, a subject, an actor or a workspace"
          placeholder="Type, INV-…, USR-…, WS-…"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <datalist id="event-type-names">
          {types?.map(({ type }) => (
            <option key={type} value={type} />
          ))}
        </datalist>
      </form>
      <RangePicker search={search} />
      {(Object.keys(names) as Name[]).map((name) => {
        const value = search[name];
        return (
          value && (
            <Chip key={name} name={names[name]} value={value} onRemove={() => set({ [name]: undefined })} />
          )
        );
      })}
      <RangeChip search={search} onRemove={() => set({ from: undefined, to: undefined, range: undefined })} />
    </div>
  );
}
