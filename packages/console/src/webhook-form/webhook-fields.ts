import type { ChangeWebhookRequest, Webhook } from '@posthorn/client';
import { laidOut } from '../code/json';
import { parsed } from '../webhook-editors/filter-rules';
import { waitsIn } from './waits';

let lastKey = 0;

/** A header in the form, whose row has a key. If the service has a value for it, it never returns that. */
export function newPair() {
  lastKey += 1;
  return { key: lastKey, name: '', value: '', isStored: false };
}
export type HeaderPair = ReturnType<typeof newPair>;

/** Returns a draft that was kept across a reload, with new keys, so that rows that are added later have other keys. */
export function reopened(draft: WebhookDraft): WebhookDraft {
  return { ...draft, headers: draft.headers.map((pair) => ({ ...pair, key: newPair().key })) };
}

/** The values in the form of a webhook. What there is none of is an empty text. */
export type WebhookDraft = ReturnType<typeof draftOf>;

export function draftOf(webhook: Partial<Webhook>) {
  return {
    url: webhook.url ?? '',
    description: webhook.description ?? '',
    event_types: webhook.event_types ?? [],
    /** JSON as it was typed. */
    filter: jsonText(webhook.filter),
    format: webhook.format ?? 'envelope',
    /** JSON as it was typed. It is kept while another format is chosen. */
    template: jsonText(webhook.template),
    workspace_id: webhook.workspace_id ?? '',
    headers: Object.keys(webhook.headers ?? {}).map((name) => ({ ...newPair(), name, isStored: true })),
    rate_limit: String(webhook.rate_limit ?? ''),
    /** Durations as they were typed. Empty for the waits of the service. */
    retry_schedule: (webhook.retry_schedule ?? []).join(', '),
    /** ISO 8601. Empty for never. */
    expires_at: webhook.expires_at ?? '',
    /** Whether a new webhook is created without a verification. */
    isDisabled: false,
  };
}

/** What a field of the form is about, and changes. */
export interface FieldProps {
  draft: WebhookDraft;
  fault: string | undefined;
  onChange: (part: Partial<WebhookDraft>) => void;
}

export type EditorProps = Omit<FieldProps, 'fault'> & { onClose: () => void };

/** The fields of a webhook that the form can change. */
type WebhookFields = Required<Omit<ChangeWebhookRequest, 'status'>>;

const jsonText = (value: unknown) => (value == null ? '' : laidOut(value));

/** Returns what a text means. Text that is not JSON stays text, and the service says that it is wrong. */
const jsonOf = (text: string) => (text.trim() === '' ? null : (parsed(text) ?? text));

/** Returns the fields as the API expects them. A stored header that was not typed again keeps its value. */
export function fieldsOf(draft: WebhookDraft): WebhookFields {
  const named = draft.headers.filter(({ name, value, isStored }) => name.trim() || value || isStored);
  const pairs = named.map(({ name, value, isStored }) => [
    name.trim(),
    value === '' && isStored ? null : value,
  ]);
  return {
    url: draft.url.trim(),
    event_types: draft.event_types,
    filter: jsonOf(draft.filter) as WebhookFields['filter'],
    format: draft.format,
    template: (draft.format === 'template' ? jsonOf(draft.template) : null) as WebhookFields['template'],
    description: draft.description.trim() || null,
    headers: pairs.length > 0 ? Object.fromEntries(pairs) : null,
    rate_limit: draft.rate_limit.trim() === '' ? null : Number(draft.rate_limit),
    retry_schedule: waitsIn(draft.retry_schedule),
    expires_at: draft.expires_at || null,
  };
}

/** Returns whether two drafts say the same, such as one that was just opened and one with an empty row for a header. */
export function isSameDraft(one: WebhookDraft, other: WebhookDraft): boolean {
  return (
    JSON.stringify(fieldsOf(one)) === JSON.stringify(fieldsOf(other)) &&
    one.workspace_id.trim() === other.workspace_id.trim() &&
    one.isDisabled === other.isDisabled
  );
}

/** Updates a draft after its webhook has changed: fields that were not edited since `before` get new values. */
export function rebasedDraft(draft: WebhookDraft, before: WebhookDraft, after: Webhook): WebhookDraft {
  const kept = Object.keys(changesBetween(fieldsOf(before), fieldsOf(draft))) as (keyof WebhookFields)[];
  return { ...draftOf(after), ...Object.fromEntries(kept.map((name) => [name, draft[name]])) };
}

/** Returns only the fields that differ, so that changing the description does not verify the URL again. */
export function changesOf(draft: WebhookDraft, webhook: Webhook): Partial<WebhookFields> {
  return changesBetween(fieldsOf(draftOf(webhook)), fieldsOf(draft));
}

function changesBetween(before: WebhookFields, after: WebhookFields): Partial<WebhookFields> {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof WebhookFields]),
    ),
  );
}
