import { type Verification, verify } from '@posthorn/receiver';
import { useState } from 'react';
import { Button } from '../../parts/button';
import { formatDuration } from '../../text/format';

interface Pasted {
  headers: Record<string, string>;
  body: string;
}

/** Reads headers, an empty line and the body, as `posthorn verify` does. Undefined if there are no headers. */
export function pastedRequest(text: string): Pasted | undefined {
  const [, head = '', body = ''] =
    /^\s*([\s\S]*?)(?:\n[ \t]*\n([\s\S]*))?$/.exec(text.replaceAll('\r\n', '\n')) ?? [];
  const lines = head
    .split('\n')
    .map((line) => /^(?:> ?)?([\w!#$%&'*+.^`|~-]+):[ \t]*(.*?)[ \t]*$/.exec(line));
  const headers = lines.flatMap((line) => (line ? [[line[1]!.toLowerCase(), line[2]!] as const] : []));
  return headers.length > 0 ? { headers: Object.fromEntries(headers), body } : undefined;
}

/**
 * Checks a request with the same code as a receiver. A field of a browser has only plain line breaks and may get one
 * more at its end, so the body is also tried with those that it may have had.
 */
export function verdictOf({ headers, body }: Pasted, secret: string): Verification {
  const bodies = [body, body.replace(/\n$/, ''), body.replaceAll('\n', '\r\n')];
  // A saved request is usually old.
  const options = { toleranceSeconds: Number.MAX_SAFE_INTEGER, isRaw: true };
  const verdicts = [...new Set(bodies)].map((one) => verify(one, headers, secret.trim(), options));
  return verdicts.find(({ ok }) => ok) ?? verdicts[0]!;
}

/** Checks the signatures of a request that a receiver got. Nothing leaves the page. */
export function VerifyView() {
  const [text, setText] = useState('');
  const [secret, setSecret] = useState('');
  const [verdict, setVerdict] = useState<Verification | 'unread'>();
  const change = (set: (value: string) => void) => (event: { target: { value: string } }) => {
    set(event.target.value);
    setVerdict(undefined);
  };
  return (
    <>
      <h1>Check a signature</h1>
      <p className="lead">
        Paste a request as your receiver got it: its headers, an empty line and the body. It is checked in
        this page, with the code of <code>@posthorn/receiver</code>. Nothing is sent or kept.
      </p>
      <form
        className="form replay"
        onSubmit={(event) => {
          event.preventDefault();
          const pasted = pastedRequest(text);
          setVerdict(pasted ? verdictOf(pasted, secret) : 'unread');
        }}
      >
        <label className="field">
          <span className="label">Request</span>
          <textarea
            className="input mono"
            rows={12}
            required
            spellCheck={false}
            placeholder={
              'webhook-id: EVT-…\nwebhook-timestamp: 1795000000\nwebhook-signature: v1,…\n\n{"id":"EVT-…"}'
            }
            value={text}
            onChange={change(setText)}
          />
        </label>
        <label className="field">
          <span className="label">Signing secret</span>
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
          <Button type="submit" kind="primary">
            Check
          </Button>
        </div>
        {verdict && <Verdict verdict={verdict} />}
      </form>
    </>
  );
}

function Verdict({ verdict }: { verdict: Verification | 'unread' }) {
  if (verdict === 'unread') {
    return (
      <div className="note" role="status">
        <b>This is not a request</b>
        <p>Paste its headers, an empty line and the body.</p>
      </div>
    );
  }
  if (verdict.ok) {
    return (
      <div className="note ok" role="status">
        <b>The signature is valid</b>
        <p>
          {verdict.signedAt
            ? `Signed ${formatDuration(Math.max(0, Date.now() - verdict.signedAt.getTime()))} ago. A receiver accepts it for 5 minutes.`
            : 'Only X-Service-Signature matched, which does not cover the time.'}
        </p>
      </div>
    );
  }
  return (
    <div className="note" role="status">
      <b>
        Not verified <code>{verdict.reason}</code>
      </b>
      <p>{verdict.detail}</p>
      <p className="small">
        <code>node posthorn.mjs verify</code> also finds a single byte that was changed.
      </p>
    </div>
  );
}
