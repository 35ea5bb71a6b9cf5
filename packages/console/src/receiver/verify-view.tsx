import type { Verdict } from '@posthorn/receiver/verdict';
import { useState } from 'react';
import { Button } from '../parts/button';
import { Form } from '../parts/form';
import { Note } from '../parts/note';
import { formatDuration } from '../text/format';
import { rich, t } from '../text/language';
import { verdictOn } from './verdict';

/** Checks the signatures of a request that a receiver got. Nothing leaves the page. */
export function VerifyView() {
  const [text, setText] = useState('');
  const [secret, setSecret] = useState('');
  const [verdict, setVerdict] = useState<Verdict | 'unread'>();
  const change = (set: (value: string) => void) => (event: { target: { value: string } }) => {
    set(event.target.value);
    setVerdict(undefined);
  };
  return (
    <>
      <h1>{t`Check a signature`}</h1>
      <p className="lead">{rich`Paste a request as your receiver got it: its headers, an empty line and the body. It is checked in this page, with the code of ${<code>@posthorn/receiver</code>}. Nothing is sent or kept.`}</p>
      <Form className="form replay" onSubmit={() => setVerdict(verdictOn(text, secret))}>
        <label className="field">
          <span className="label">{t`Request`}</span>
          <textarea
            className="input mono"
            rows={12}
            required
            spellCheck={false}
            placeholder={`webhook-id: EVT-…
webhook-timestamp: 1795000000
webhook-signature: v1,…

{"id":"EVT-…"}`}
            value={text}
            onChange={change(setText)}
          />
        </label>
        <label className="field">
          <span className="label">{t`Signing secret`}</span>
          <input
            className="input mono"
            type="password"
            required
            autoComplete="off"
            placeholder="whsec_…"
            value={secret}
            onChange={change(setSecret)}
          />
        </label>
        <div className="actions">
          <Button type="submit" kind="primary">{t`Check`}</Button>
        </div>
        {verdict && <VerdictNote verdict={verdict} />}
      </Form>
    </>
  );
}

function VerdictNote({ verdict }: { verdict: Verdict | 'unread' }) {
  if (verdict === 'unread') {
    return (
      <Note role="status" title={t`This is not a request`}>
        <p>{t`Paste its headers, an empty line and the body.`}</p>
      </Note>
    );
  }
  if (!verdict.ok) {
    return (
      <Note role="status" title={rich`Not verified ${<code>{verdict.reason}</code>}`}>
        <p>{verdict.detail}</p>
      </Note>
    );
  }
  return (
    <Note kind="ok" role="status" title={t`The signature is valid`}>
      <p>
        {verdict.signedAt
          ? t`Signed ${formatDuration(Math.max(0, Date.now() - verdict.signedAt.getTime()))} ago. A receiver accepts it for 5 minutes.`
          : t`Only X-Service-Signature matched, which does not cover the time.`}
      </p>
    </Note>
  );
}
