import type { TestResult, Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useAction } from '../../action';
import { posthorn } from '../../api/client';
import { eventTypesQuery } from '../../api/events';
import { problemIn } from '../../api/problem';
import { formatMs } from '../../format';
import { outcomeOf } from '../../parts/delivery-tag';
import { FilterSelect } from '../../parts/filter-select';
import { PrettySwitch } from '../../parts/pretty-switch';
import { ProblemNote } from '../../parts/problem-note';
import { RequestBox, ResponseBox } from '../../parts/wire';
import { WithTimes } from '../../parts/with-times';
import { matches } from '../../subscription';

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
      {test.data && <Result result={test.data} />}
    </>
  );
}

function Result({ result }: { result: TestResult }) {
  const isGood = result.status === 'success';
  const isRaw = useSearch({ from: '/webhooks/$webhookId' }).text === 'raw';
  return (
    <>
      <div className={isGood ? 'note ok' : 'note'} role="status">
        <b>
          {isGood ? (
            `The receiver responded with ${result.http_status} in ${formatMs(result.response_time_ms)}.`
          ) : (
            <WithTimes
              text={result.error_detail ?? `The test failed: ${result.http_status ?? result.error}.`}
            />
          )}
        </b>
        {result.remedy && (
          <p>
            <WithTimes text={result.remedy} />
          </p>
        )}
      </div>
      <div className="section-head">
        <h2>Request and response</h2>
        <span className="grow" />
        <PrettySwitch label="Body format" isRaw={isRaw} />
      </div>
      <div className="two">
        {result.request && <RequestBox title="Request" request={result.request} isRaw={isRaw} />}
        <ResponseBox
          title="Response"
          aside={`${outcomeOf(result)} · ${formatMs(result.response_time_ms)}`}
          headers={result.response_headers}
          body={result.response}
          nothing={result.http_status === null ? 'There was no response.' : 'The response had no body.'}
          isRaw={isRaw}
        />
      </div>
    </>
  );
}
