import type { PosthornError } from '@posthorn/client';
import { type ReactNode, useEffect, useState } from 'react';
import { Button } from '../parts/button';
import { Field, Remark } from '../parts/form';
import { IconButton } from '../parts/icon';
import { useToken } from '../session/token';
import { t } from '../text/language';
import { BodyRow, FilterRow } from '../webhook-editors/editor-rows';
import { useFieldFaults } from './field-faults';
import { LifetimeFields } from './lifetime-fields';
import { TypePicker } from './type-picker';
import { draftOf, type HeaderPair, newPair, type WebhookDraft } from './webhook-fields';

interface FormProps {
  draft: WebhookDraft;
  onChange: (draft: WebhookDraft) => void;
  problem: PosthornError | undefined;
  /** False if the workspace cannot be changed. */
  canChooseWorkspace: boolean;
  /** Whether the fields are the steps to something new. */
  isNumbered?: boolean;
  onShowSample?: (type: string) => void;
}

/** Returns whether the form shows all faults of a problem next to its fields. */
export function isShownInForm(problem: PosthornError | undefined): boolean {
  if (problem === undefined || problem.errors.length === 0) return false;
  const fields = draftOf({});
  return problem.errors.every(({ pointer = '' }) => (pointer.split('/')[1] ?? '') in fields);
}

/** The fields of a webhook, for a new one and for a change. */
export function WebhookForm({
  draft,
  onChange,
  problem,
  canChooseWorkspace,
  isNumbered = false,
  onShowSample,
}: FormProps) {
  const token = useToken();
  const faults = useFieldFaults(problem);
  const change = (part: Partial<WebhookDraft>) => {
    for (const field of Object.keys(part)) faults.set(field, undefined);
    onChange({ ...draft, ...part });
  };
  const { headers, rate_limit, workspace_id, retry_schedule, expires_at } = draft;
  const hasMore = headers.length > 0 || `${rate_limit}${workspace_id}${retry_schedule}${expires_at}` !== '';
  const [isOpen, setOpen] = useState(hasMore);
  // What was opened stays open while its fields are emptied.
  if (hasMore && !isOpen) setOpen(true);
  useEffect(() => {
    if (isNumbered) document.querySelector<HTMLElement>('.form input')?.focus({ preventScroll: true });
  }, [isNumbered]);
  // The button is below the form, so the field with the fault can be out of sight.
  useEffect(() => {
    if (!problem) return;
    for (const closed of document.querySelectorAll('.form details:has(.fault)')) reveal(closed);
    document.querySelector('.form .fault')?.scrollIntoView({ block: 'center' });
    document.querySelector<HTMLElement>('.form [aria-invalid="true"]')?.focus({ preventScroll: true });
  }, [problem]);
  return (
    <>
      <Step isNumbered={isNumbered} title={t`Where events go`}>
        <Field
          label={t`URL`}
          hint={
            token.portal
              ? t`An https URL at a public address.`
              : location.hostname === '127.0.0.1'
                ? t`An https URL at a public address. Plain http works only in networks that the operator allows; npm start allows 127.0.0.1.`
                : t`An https URL at a public address. Plain http works only in networks that the operator allows.`
          }
          fault={faults.of('url')}
          className="mono"
          type="url"
          required
          placeholder="https://example.com/webhooks"
          value={draft.url}
          onChange={(event) => change({ url: event.target.value })}
          onInvalid={(event) => {
            // The browser's own message does not say what is missing.
            event.preventDefault();
            faults.set('url', urlFaultOf(draft.url));
            focusIfFirst(event.currentTarget);
          }}
        />
        <Field
          label={t`Name`}
          hint={t`A name or a note. Optional.`}
          fault={faults.of('description')}
          maxLength={256}
          placeholder="orders-eu"
          value={draft.description}
          onChange={(event) => change({ description: event.target.value })}
        />
      </Step>
      <Step isNumbered={isNumbered} title={t`Which events`}>
        <TypePicker
          chosen={draft.event_types}
          onChange={(event_types) => change({ event_types })}
          fault={faults.of('event_types')}
          {...(onShowSample && { onShowSample })}
        />
        <FilterRow draft={draft} fault={faults.of('filter')} onChange={change} />
        <BodyRow
          draft={draft}
          isNew={isNumbered}
          fault={faults.of('format') ?? faults.of('template')}
          onChange={change}
        />
      </Step>
      {/* Otherwise the browser refuses to submit the form and cannot show why. */}
      <details open={isOpen} onInvalidCapture={(event) => reveal(event.currentTarget)}>
        <summary>
          {canChooseWorkspace
            ? t`Workspace, headers, rate limit, retries, expiry`
            : t`Headers, rate limit, retries, expiry`}
        </summary>
        <div className="stack">
          {canChooseWorkspace && (
            <Field
              label={t`Workspace`}
              hint={t`Send only events of this workspace. Leave empty for the whole organization.`}
              fault={faults.of('workspace_id')}
              className="mono"
              placeholder="WS-berlin"
              value={draft.workspace_id}
              onChange={(event) => change({ workspace_id: event.target.value })}
            />
          )}
          <HeaderPairs
            headers={headers}
            onChange={(headers) => change({ headers })}
            fault={faults.of('headers')}
          />
          <Field
            label={t`Rate limit`}
            hint={t`Requests per second, 1 to 1,000. Leave empty for no limit.`}
            fault={faults.of('rate_limit')}
            className="short"
            type="number"
            min={1}
            max={1000}
            step={1}
            value={draft.rate_limit}
            onChange={(event) => change({ rate_limit: event.target.value })}
            onInvalid={(event) => {
              event.preventDefault();
              faults.set('rate_limit', t`Enter a whole number from 1 to 1,000, or leave the field empty.`);
              focusIfFirst(event.currentTarget);
            }}
          />
          <LifetimeFields draft={draft} faults={faults} onChange={change} />
        </div>
      </details>
    </>
  );
}

/** A part of a form. Its number comes from how many come before it. */
export function Step({
  isNumbered = true,
  title,
  children,
}: {
  isNumbered?: boolean;
  title: string;
  children: ReactNode;
}) {
  if (!isNumbered) return children;
  return (
    <section className="step">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Says what is wrong with a URL that the browser does not accept. */
function urlFaultOf(url: string): string {
  if (url.trim() === '') return t`Enter a URL.`;
  return url.includes('://')
    ? t`This is not a URL. Use one such as https://example.com/webhooks.`
    : t`Start the URL with https://, as in https://example.com/webhooks.`;
}

/** Focuses a field that the browser does not accept, unless there is such a field above it. */
function focusIfFirst(field: HTMLInputElement): void {
  if (field.form?.querySelector('input:invalid') === field) field.focus();
}

function reveal(details: Element): void {
  (details as HTMLDetailsElement).open = true;
}

function HeaderPairs({
  headers,
  onChange,
  fault,
}: {
  headers: HeaderPair[];
  onChange: (headers: HeaderPair[]) => void;
  fault: string | undefined;
}) {
  const set = (key: number, part: { name?: string; value?: string }) =>
    onChange(headers.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)));
  return (
    <div className="field">
      <span className="label">{t`Headers`}</span>
      <div className="pairs">
        {headers.map(({ key, name, value, isStored }, index) => (
          <div className="pair" key={key}>
            <input
              className="input mono"
              aria-label={t`Name of header ${index + 1}`}
              placeholder="X-Api-Key"
              value={name}
              readOnly={isStored}
              onChange={(event) => set(key, { name: event.target.value })}
            />
            <input
              className="input mono"
              aria-label={t`Value of header ${index + 1}`}
              placeholder={isStored ? t`unchanged` : t`value`}
              value={value}
              autoComplete="off"
              onChange={(event) => set(key, { value: event.target.value })}
            />
            <IconButton
              label={t`Remove header ${index + 1}`}
              onClick={() => onChange(headers.filter((pair) => pair.key !== key))}
            />
          </div>
        ))}
        {headers.length < 10 && (
          <div>
            <Button kind="slim" onClick={() => onChange([...headers, newPair()])}>{t`Add a header`}</Button>
          </div>
        )}
      </div>
      <Remark fault={fault} hint={t`Sent with every request. Values are encrypted and never shown again.`} />
    </div>
  );
}
