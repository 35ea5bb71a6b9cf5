import type { Attempt, ResponseHeaders, SentRequest } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import { formatMs } from '../text/format';
import { t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { CodeBlock } from './code-block';
import { JsonText, useIsRaw } from './json-text';

function headerLines(headers: SentRequest['headers'] | ResponseHeaders): [string, string][] {
  return Object.entries(headers).map(([name, value]) => [name, value ?? t`(not shown)`]);
}

function rawText(headers: [string, string][], body: string): string {
  return [...headers.map(([name, value]) => `${name}: ${value}`), '', body].join('\n');
}

/** Headers that every request has, and that say nothing about this one. */
const standard = /^(accept|accept-encoding|connection|content-length|content-type|user-agent)$/i;

function Message({ headers, body }: { headers: [string, string][]; body: string }) {
  const folded = headers.filter(([name]) => standard.test(name));
  const isFolded = folded.length > 1 && folded.length < headers.length;
  return (
    <>
      {isFolded && (
        <details>
          <summary>{t`${folded.length} standard headers`}</summary>
          <Headers headers={folded} />
        </details>
      )}
      <Headers headers={isFolded ? headers.filter((one) => !folded.includes(one)) : headers} />
      {headers.length > 0 && '\n'}
      <JsonText text={body} isRaw={useIsRaw()} />
    </>
  );
}

function Headers({ headers }: { headers: [string, string][] }) {
  return headers.map(([name, value]) => (
    <span key={name}>
      <span className="t-key">{name}</span>: <span className="header-value">{value}</span>
      {'\n'}
    </span>
  ));
}

/** The request as it is sent, without its signatures. Raw shows the exact bytes of the body. */
export function RequestBox({ title, request }: { title: string; request: SentRequest }) {
  const headers = headerLines(request.headers);
  return (
    <div className="wire">
      <CodeBlock
        title={title}
        what={t`the request`}
        text={rawText(headers, request.body ?? '')}
        aside={request.url && <code title={request.url}>POST {request.url}</code>}
      >
        <Message headers={headers} body={request.body ?? ''} />
        {request.body === null && (
          <span className="soft">{t`The body is not available: the token lacks events:read, or the event no longer exists.`}</span>
        )}
      </CodeBlock>
      <p className="soft small">
        {t`Signature headers are not shown here.`}{' '}
        <Link to="/verify" className="link">{t`Check a signature…`}</Link>
      </p>
    </div>
  );
}

const storedBytesMax = 1_024;
/** A character that the limit would cut in two is not stored. */
const cutBytesMax = 3;

/** Returns whether a body reaches the limit of what is stored. What replaces a byte that is not text counts as one. */
const isFull = (body: string) =>
  new TextEncoder().encode(body.replaceAll('\ufffd', '?')).length >= storedBytesMax - cutBytesMax;

type Responded = Pick<Attempt, 'http_status' | 'error' | 'duration_ms' | 'response_headers' | 'response'>;

/** What came back from an attempt or a test, or that nothing did. */
export function ResponseBox({ title, of }: { title: string; of: Responded }) {
  const { duration_ms: ms, response: body } = of;
  const headers = headerLines(of.response_headers ?? {});
  const aside = outcomeOf(of) + (ms === null ? '' : ` · ${formatMs(ms)}`);
  return (
    <div className="wire">
      <CodeBlock title={title} what={t`the response`} text={rawText(headers, body ?? '')} aside={aside}>
        <Message headers={headers} body={body ?? ''} />
        {!body && (
          <span className="soft">
            {of.http_status === null ? t`There was no response.` : t`The response had no body.`}
          </span>
        )}
      </CodeBlock>
      {body !== null && isFull(body) && (
        <p className="soft small">{t`First 1 KiB of the body. No more than that is stored.`}</p>
      )}
    </div>
  );
}
