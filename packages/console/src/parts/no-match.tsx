import { useQuery } from '@tanstack/react-query';
import { eventTypesQuery } from '../api/events';
import { usePermission } from '../permission';
import { ClearFilters } from './clear-filters';
import { Empty } from './empty';

/** Says that nothing matches the filters, and why if no event can have the type. */
export function NoMatch({ title, type }: { title: string; type: string | undefined }) {
  const may = usePermission();
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: may.readEvents && type !== undefined });
  const isUnknown = type !== undefined && types?.every((known) => known.type !== type);
  return (
    <Empty title={title} actions={<ClearFilters />}>
      <p>
        {isUnknown ? (
          <>
            There is no event type <code>{type}</code>. Filter by an exact type, such as{' '}
            <code>invoice.paid</code>.
          </>
        ) : (
          'Choose a longer range, or remove a filter.'
        )}
      </p>
    </Empty>
  );
}
