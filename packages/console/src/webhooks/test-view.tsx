import type { TestResult as Result, Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { eventTypesQuery, matches } from '../api/events';
import { problemIn } from '../api/problem';
import { createStore, useStore } from '../browser/store';
import { PrettySwitch } from '../code/json-text';
import { RequestBox, ResponseBox } from '../code/wire';
import { FilterSelect } from '../lists/filters';
import { Button } from '../parts/button';
import { Form } from '../parts/form';
import { Note } from '../parts/note';
import { ProblemNote } from '../parts/states';
import { formatMs } from '../text/format';
import { rich, t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { ClockTime, WithTimes } from '../text/time';

/** Sends a test event and shows request and response side by side. */
export function TestView({ webhook }: { webhook: Webhook }) {
  const { test: chosen } = useSearch({ from: '/webhooks/$webhookId' });
  const query = useQuery(eventTypesQuery);
  const { data: types } = query;
  const fitting = types?.find(({ type }) => matches(webhook.event_types, type))?.type;
  const known = types?.find(({ type }) => type === chosen)?.type;
  const type = known ?? fitting ?? types?.[0]?.type ?? '';
  const tests = useStore(keptTests)[webhook.id] ?? [];
  const [shown, setShown] = useState<KeptTest>();
  const test = useAction({
    mutationFn: () => posthorn.webhooks.test(webhook.id, { event_type: type }),
    onSuccess: (result) => {
      const sent = { at: new Date().toISOString(), type, result };
      keptTests.set({ ...keptTests.get(), [webhook.id]: [sent, ...tests].slice(0, keptMax) });
      setShown(sent);
    },
  });
  return (
    <>
      <Form className="filters" onSubmit={() => test.mutate()}>
        <FilterSelect
          name="test"
          label={t`Event type`}
          value={type}
          options={(types ?? []).map((one) => ({ value: one.type }))}
        />
        <Button type="submit" kind="primary" disabled={test.isPending || !type}>
          {test.isPending ? t`Sending…` : t`Send a test`}
        </Button>
        <span className="soft small">{rich`One signed request with ${<code>"test": true</code>}. Tests do not appear in lists or statistics.`}</span>
      </Form>
      {!types && problemIn(query.error) && (
        <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      )}
      {test.error && <ProblemNote error={test.error} isAction />}
      {shown && <TestResult result={shown.result} />}
      {tests.length > 0 && (
        <section className="section">
          <h2>{t`Latest tests`}</h2>
          <ul className="way">
            {tests.map((one) => (
              <li key={one.at}>
                <button
                  type="button"
                  className="row-link mono cut"
                  aria-current={one === shown ? true : undefined}
                  onClick={() => setShown(one)}
                >
                  {one.type}
                </button>
                <span className="soft">
                  <ClockTime at={one.at} />
                </span>
                <span className={one.result.status === 'success' ? 'tag ok' : 'tag bad'}>
                  {outcomeOf(one.result)}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

interface KeptTest {
  at: string;
  type: string;
  result: Result;
}

const keptMax = 10;

/** The last tests of each webhook, as long as the tab shows the console: the service does not keep them. */
const keptTests = createStore<Readonly<Record<string, readonly KeptTest[]>>>({});

/** How a test ended, with the request and the response side by side. */
export function TestResult({ result }: { result: Result }) {
  const isGood = result.status === 'success';
  return (
    <>
      <Note
        kind={isGood ? 'ok' : ''}
        role="status"
        title={
          isGood
            ? t`The receiver responded with ${Number(result.http_status)} in ${formatMs(result.response_time_ms)}.`
            : (result.error_detail ?? t`The test failed: ${outcomeOf(result)}.`)
        }
      >
        {result.remedy && (
          <p>
            <WithTimes text={result.remedy} />
          </p>
        )}
      </Note>
      <div className="section-head">
        <h2>{t`Request and response`}</h2>
        <span className="grow" />
        <PrettySwitch label={t`Body format`} />
      </div>
      <div className="two">
        {result.request && <RequestBox title={t`Request`} request={result.request} />}
        <ResponseBox title={t`Response`} of={{ ...result, duration_ms: result.response_time_ms }} />
      </div>
    </>
  );
}
