import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { RangeSearch } from '../address/range';
import type { SearchOf } from '../address/search';
import { eventTypesQuery } from '../api/events';
import { FilterBar } from '../lists/filters';
import { t } from '../text/language';

const names = {
  type: t`type`,
  subject_type: t`subject type`,
  subject_id: t`subject`,
  actor_id: t`actor`,
  workspace_id: t`workspace`,
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
      label={t`Add a filter: a type, a subject, an actor or a workspace`}
      placeholder={t`Type, subject, USR-…, WS-…`}
      suggestions={types?.map(({ type }) => type)}
      filterFor={filterFor}
      onId={(id) => /^EVT-/.test(id) && navigate({ to: '/events/$eventId', params: { eventId: id } })}
    />
  );
}
