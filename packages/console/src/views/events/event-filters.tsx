import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { RangeSearch } from '../../address/range';
import type { SearchOf } from '../../address/search';
import { eventTypesQuery } from '../../api/events';
import { FilterBar } from '../../lists/filters';

const names = {
  type: 'type',
  subject_type: 'subject type',
  subject_id: 'subject',
  actor_id: 'actor',
  workspace_id: 'workspace',
} as const;
type Name = keyof typeof names;

export type EventSearch = RangeSearch & SearchOf<Name>;

/** Guesses which filter the text is for: `USR-…` is an actor, `WS-…` a workspace, another prefix a subject, `a.b` a type. */
function filterFor(text: string): Name {
  if (/^(USR|AGT)-/.test(text)) return 'actor_id';
  if (/^WS-/.test(text)) return 'workspace_id';
  if (/^[A-Z]+-/.test(text)) return 'subject_id';
  return text.includes('.') ? 'type' : 'subject_type';
}

export function EventFilters({ search }: { search: EventSearch }) {
  const navigate = useNavigate();
  const { data: types } = useQuery(eventTypesQuery);
  return (
    <FilterBar
      names={names}
      search={search}
      label="Add a filter: a type, a subject, an actor or a workspace"
      placeholder="Type, subject, USR-…, WS-…"
      suggestions={types?.map(({ type }) => type)}
      filterFor={filterFor}
      onId={(id) => /^EVT-/.test(id) && navigate({ to: '/events/$eventId', params: { eventId: id } })}
    />
  );
}
