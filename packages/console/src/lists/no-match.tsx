import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { hasFilter } from '../address/search';
import { WholeOrganization } from '../address/workspace';
import { eventTypesQuery, exampleType } from '../api/events';
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
  const isUnknown = type !== undefined && types?.every((known) => known.type !== type);
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
        {isUnknown
          ? rich`There is no event type ${<code>{type}</code>}. Filter by an exact type, such as ${<code>{exampleType(types)?.type}</code>}.`
          : remedyOf(isFiltered, workspaceId)}
      </p>
    </Empty>
  );
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
      onClick={() => void navigate({ to: '.', search: ({ live, tab }) => ({ live, tab }) as never })}
    >{t`Clear the filters`}</Button>
  );
}
