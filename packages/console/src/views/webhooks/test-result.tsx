import type { TestResult as Result } from '@posthorn/client';
import { useSearch } from '@tanstack/react-router';
import { PrettySwitch } from '../../code/pretty-switch';
import { RequestBox, ResponseBox } from '../../code/wire';
import { formatMs } from '../../text/format';
import { WithTimes } from '../../text/marked-text';
import { outcomeOf } from '../deliveries/delivery-tag';

/** How a test ended, with the request and the response side by side. */
export function TestResult({ result }: { result: Result }) {
  const isGood = result.status === 'success';
  const isRaw = useSearch({ strict: false }).text === 'raw';
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
