import type { EventType, PreviewedEvent } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { eventTypesQuery, matches } from '../../api/events';
import { useToken } from '../../session/token';
import type { WebhookDraft } from '../webhook-form/webhook-fields';

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
function sampleEvent(
  { type, sample }: EventType,
  organization_id: string,
): Pick<PreviewedEvent, 'id' | 'type' | 'payload'> & Record<string, unknown> {
  const [domain = ''] = type.split('.');
  const { id = '' } = sample as { id?: string };
  return {
    ...{ id: 'EVT-01K1RB6W8Y0A2C4E6G8J0M2P4R', type, organization_id, workspace_id: null },
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: domain, id },
    payload: sample as Record<string, unknown>,
    created_at: new Date().toISOString(),
  };
}
