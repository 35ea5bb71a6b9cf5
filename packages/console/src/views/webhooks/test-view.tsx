import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useAction } from '../../api/action';
import { posthorn } from '../../api/client';
import { eventTypesQuery } from '../../api/events';
import { problemIn } from '../../api/problem';
import { FilterSelect } from '../../lists/filters';
import { ProblemNote } from '../../parts/problem-note';
import { matches } from './subscription';
import { TestResult } from './test-result';

/** Sends a test event and shows request and response side by side. */
export function TestView({ webhook }: { webhook: Webhook }) {
  const { test: chosen } = useSearch({ from: '/webhooks/$webhookId' });
  const navigate = useNavigate({ from: '/webhooks/$webhookId' });
  const query = useQuery(eventTypesQuery);
  const { data: types } = query;
  const fitting = types?.find(({ type }) => matches(webhook.event_types, type))?.type;
  const known = types?.find(({ type }) => type === chosen)?.type;
  const type = known ?? fitting ?? types?.[0]?.type ?? '';
  const test = useAction({ mutationFn: () => posthorn.webhooks.test(webhook.id, { event_type: type }) });
  return (
    <>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          test.mutate();
        }}
      >
        <FilterSelect
          label="Event type"
          value={type}
          onChange={(test) =>
            void navigate({ search: (now) => ({ ...now, test }), replace: true, resetScroll: false })
          }
        >
          {types?.map((one) => (
            <option key={one.type}>{one.type}</option>
          ))}
        </FilterSelect>
        <button type="submit" className="btn primary" disabled={test.isPending || !type}>
          {test.isPending ? 'Sending…' : 'Send a test'}
        </button>
        <span className="soft small">
          One signed request with <code>"test": true</code>. Tests do not appear in lists or statistics.
        </span>
      </form>
      {!types && problemIn(query.error) && (
        <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      )}
      {test.error && <ProblemNote error={test.error} isAction />}
      {test.data && <TestResult result={test.data} />}
    </>
  );
}
