import type { EventType, PreviewedEvent, PreviewWebhookRequest } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { posthorn } from '../api/client';
import { eventTypesQuery, matches } from '../api/events';
import { problemIn } from '../api/problem';
import { useToken } from '../session/token';
import type { WebhookDraft } from '../webhook-form/webhook-fields';

export type Preview = ReturnType<typeof usePreview>;

/** A pause in typing. */
const settleMs = 350;
/** A token has 60 requests of this kind per minute by default. */
const everyMs = 1_100;

/** Returns what a webhook would get, a moment after what it wants has changed. Until then, `data` is older. */
export function usePreview(request: Omit<PreviewWebhookRequest, 'organization_id'>) {
  const { organization_id } = useToken();
  const wanted = JSON.stringify({ organization_id, ...request });
  const body = useSettled(wanted);
  const { data, error, isFetching } = useQuery({
    queryKey: ['preview', body],
    queryFn: ({ signal }) => posthorn.webhooks.preview(JSON.parse(body), { signal }),
    staleTime: 30_000,
  });
  const [shown, setShown] = useState(data);
  if (data && data !== shown) setShown(data);
  return { data: shown, isOld: body !== wanted || isFetching, error, problem: problemIn(error) };
}

/** Returns a text once it has not changed for a moment, and not too often. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  const settledAt = useRef(0);
  useEffect(() => {
    const waitMs = Math.max(settleMs, settledAt.current + everyMs - performance.now());
    const timer = setTimeout(() => {
      settledAt.current = performance.now();
      setSettled(text);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Returns what a webhook subscribes to, for a preview, with its types and a sample of the first one. */
export function useSubscription({ event_types, workspace_id }: WebhookDraft) {
  const token = useToken();
  const { data: catalogue } = useQuery(eventTypesQuery);
  const wanted = event_types.length > 0 ? event_types : ['*'];
  const chosen = (catalogue ?? []).filter(({ type }) => matches(wanted, type));
  const workspace = workspace_id.trim();
  return {
    subscription: { event_types: wanted, ...(workspace && { workspace_id: workspace }) },
    chosen,
    sample: chosen[0] && sampleEvent(chosen[0], token.organization_id),
  };
}

/** An event of a type as its sample shows it, if there is no real one. */
export function sampleEvent(
  { type, sample }: EventType,
  organization_id: string,
): Pick<PreviewedEvent, 'id' | 'type' | 'payload'> & Record<string, unknown> {
  const [domain = ''] = type.split('.');
  const { id = '' } = sample as { id?: string };
  return {
    id: 'EVT-01K1RB6W8Y0A2C4E6G8J0M2P4R',
    type,
    organization_id,
    workspace_id: null,
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: domain, id },
    payload: sample as Record<string, unknown>,
    created_at: '2026-08-12T09:41:27.318Z',
  };
}
