import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { deliveryStates } from '../../api/deliveries';
import { eventTypesQuery } from '../../api/events';
import { zone } from '../../browser/preferences';
import { useStore } from '../../browser/store';
import { Chip, FilterSelect, RangeChip } from '../../lists/filters';
import { RangePicker } from '../../lists/range-picker';
import { Segmented } from '../../parts/segmented';
import { usePermission } from '../../session/token';
import { formatClock } from '../../text/format';
import { webhookNames } from '../webhooks/webhook-tag';

export interface DeliverySearch {
  webhook_id?: string;
  workspace_id?: string;
  state?: string;
  event_type?: string;
  event_id?: string;
  range?: string;
  from?: string;
  to?: string;
  /** If the list was opened to show what failed: since when. */
  failed_from?: string;
}

const stateNames = { retrying: 'Retrying', given_up: 'Given up', delivered: 'Delivered' } as const;

export function DeliveryFilters({
  search,
  webhooks,
}: {
  search: DeliverySearch;
  /** Undefined if the webhook is fixed. */
  webhooks: Webhook[] | undefined;
}) {
  const may = usePermission();
  const navigate = useNavigate();
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: may.readEvents });
  const names = webhookNames(webhooks ?? []);
  const shownZone = useStore(zone);
  const failedMs = Date.parse(search.failed_from ?? '');
  const set = (part: { [name in keyof DeliverySearch]: string | undefined }) =>
    void navigate({ to: '.', search: (now) => ({ ...now, ...part }) as never, resetScroll: false });
  return (
    <div className="filters">
      <Segmented
        label="State"
        choices={[
          { key: 'any', label: 'All' },
          ...deliveryStates.map((key) => ({ key, label: stateNames[key] })),
        ]}
        value={search.state ?? 'any'}
        onChange={(state) => set({ state: state === 'any' ? undefined : state })}
      />
      {webhooks && (
        <FilterSelect
          label="Webhook"
          isFilter
          value={search.webhook_id ?? ''}
          onChange={(id) => set({ webhook_id: id || undefined })}
        >
          <option value="">All webhooks</option>
          {search.webhook_id && !webhooks.some(({ id }) => id === search.webhook_id) && (
            <option value={search.webhook_id}>{search.webhook_id}</option>
          )}
          {webhooks.map((webhook) => (
            <option key={webhook.id} value={webhook.id}>
              {names.get(webhook.id)}
            </option>
          ))}
        </FilterSelect>
      )}
      {types && (
        <FilterSelect
          label="Event type"
          isFilter
          value={search.event_type ?? ''}
          onChange={(type) => set({ event_type: type || undefined })}
        >
          <option value="">All event types</option>
          {search.event_type && !types.some(({ type }) => type === search.event_type) && (
            <option>{search.event_type}</option>
          )}
          {types.map(({ type }) => (
            <option key={type}>{type}</option>
          ))}
        </FilterSelect>
      )}
      <RangePicker search={search} />
      {search.event_type && !types && (
        <Chip name="type" value={search.event_type} onRemove={() => set({ event_type: undefined })} />
      )}
      {search.event_id && (
        <Chip name="event" value={search.event_id} onRemove={() => set({ event_id: undefined })} />
      )}
      <RangeChip
        search={search}
        name="created"
        onRemove={() => set({ from: undefined, to: undefined, range: undefined, failed_from: undefined })}
      />
      {search.from && failedMs > 0 && (
        <span className="soft small">
          Starts earlier: what failed from {formatClock(failedMs, shownZone, Date.now())} on can have been
          created before.
        </span>
      )}
    </div>
  );
}
