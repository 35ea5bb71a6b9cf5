import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { closest, distance } from 'fastest-levenshtein';
import type { ReactNode } from 'react';
import { hasFilter, type Search } from '../address/search';
import { WholeOrganization } from '../address/workspace';
import { eventTypesQuery } from '../api/events';
import { Button } from '../parts/button';
import { Empty } from '../parts/states';
import { usePermission } from '../session/token';
import { rich, t } from '../text/language';

/** Says that nothing matches the filters, and why if no event can have the type. */
export function NoMatch({
  title,
  type,
  workspaceId,
}: {
  title: string;
  type: string | undefined;
  /** The workspace that was searched, or undefined for all of them. */
  workspaceId: string | undefined;
}) {
  const may = usePermission();
  const isFiltered = hasFilter(useSearch({ strict: false }));
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: may.readEvents && type !== undefined });
  const known = types?.map((one) => one.type);
  return (
    <Empty
      title={title}
      actions={
        <>
          {isFiltered && <ClearFilters />}
          {workspaceId && <WholeOrganization className="btn" />}
        </>
      }
    >
      <p>
        {type !== undefined && known?.includes(type) === false
          ? unknownType(type, known)
          : remedyOf(isFiltered, workspaceId)}
      </p>
    </Empty>
  );
}

/** The most edits between a type and a misspelling of it, as in the command line. */
const editsMax = 3;

function unknownType(type: string, known: readonly string[]): ReactNode {
  const nearest = closest(type, known);
  if (distance(type, nearest) > editsMax)
    return rich`There is no event type ${<code>{type}</code>}. Filter by an exact type, such as ${<code>{nearest}</code>}.`;
  const corrected = (
    <Link
      to="."
      className="link mono"
      // The filter is called `type` for events and `event_type` for deliveries.
      search={(now: Search) =>
        Object.fromEntries(
          Object.entries(now).map(([name, value]) => [name, value === type ? nearest : value]),
        )
      }
    >
      {nearest}
    </Link>
  );
  return rich`There is no event type ${<code>{type}</code>}. Did you mean ${corrected}?`;
}

function remedyOf(isFiltered: boolean, workspaceId: string | undefined): string {
  if (!workspaceId) return t`Choose a longer range, or remove a filter.`;
  return isFiltered
    ? t`Only ${workspaceId} is searched. Choose a longer range, remove a filter, or show the whole organization.`
    : t`Only ${workspaceId} is searched. To see everything, show the whole organization.`;
}

/** Removes all filters from the URL. The live switch and the tab stay. */
export function ClearFilters() {
  const navigate = useNavigate();
  return (
    <Button
      onClick={() => void navigate({ to: '.', search: ({ live, tab }: Search) => ({ live, tab }) })}
    >{t`Clear the filters`}</Button>
  );
}
