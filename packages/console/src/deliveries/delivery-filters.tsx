import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useLive } from '../address/live';
import { periodOf, type RangeSearch } from '../address/range';
import { type SearchOf, useSetSearch } from '../address/search';
import { type DeliveryFilter, deliveryStates, loadPage } from '../api/deliveries';
import { eventTypesQuery } from '../api/events';
import { rangeStatsQuery } from '../api/stats';
import { webhookNames } from '../api/webhook-name';
import { useZone } from '../browser/preferences';
import { barsOf, deliverySeries, isQuiet } from '../charts/bars';
import { Histogram } from '../charts/histogram';
import { Chip, FilterSelect, FilterSheet, RangeChip, RangePicker } from '../lists/filters';
import { Segmented } from '../parts/button';
import { usePermission } from '../session/token';
import { formatClock, formatPage } from '../text/format';
import { t } from '../text/language';

/** `failed_from` says since when a list shows what failed. */
export type DeliverySearch = RangeSearch &
  SearchOf<'webhook_id' | 'workspace_id' | 'state' | 'event_type' | 'event_id' | 'failed_from'>;

const stateNames = { retrying: t`Retrying`, given_up: t`Given up`, delivered: t`Delivered` } as const;

const countedMax = 100;

/** Returns how many deliveries match, `100+` for more: counted as the list finds them, so that both say the same. */
function useCount(filter: DeliveryFilter): string | undefined {
  const { data } = useQuery({
    queryKey: ['deliveries', 'count', filter],
    queryFn: ({ signal }) => loadPage(filter, countedMax, signal),
    staleTime: 15_000,
  });
  return data && formatPage(data);
}

export function DeliveryFilters({
  search,
  filter,
  webhooks,
}: {
  search: DeliverySearch;
  filter: DeliveryFilter;
  /** Undefined if the webhook is fixed. */
  webhooks: Webhook[] | undefined;
}) {
  const may = usePermission();
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: may.readEvents });
  const names = webhookNames(webhooks ?? []);
  const shownZone = useZone();
  const failedMs = Date.parse(search.failed_from ?? '');
  const set = useSetSearch();
  const counts: Record<string, string | undefined> = {
    retrying: useCount({ ...filter, state: 'retrying' }),
    given_up: useCount({ ...filter, state: 'given_up' }),
  };
  const applied = [search.webhook_id, search.event_type, search.range].filter(Boolean).length;
  return (
    <div className="filters">
      <Segmented
        label={t`State`}
        choices={[
          { key: 'any', label: t`All` },
          ...deliveryStates.map((key) => ({ key, label: stateNames[key], count: counts[key] })),
        ]}
        value={search.state ?? 'any'}
        onChange={(state) => set({ state: state === 'any' ? undefined : state })}
      />
      <FilterSheet applied={applied}>
        {webhooks && (
          <FilterSelect
            label={t`Webhook`}
            all={t`All webhooks`}
            name="webhook_id"
            value={search.webhook_id}
            options={webhooks.map(({ id }) => ({ value: id, name: names.get(id) }))}
          />
        )}
        {types && (
          <FilterSelect
            label={t`Event type`}
            all={t`All event types`}
            name="event_type"
            value={search.event_type}
            options={types.map(({ type }) => ({ value: type }))}
          />
        )}
        <RangePicker search={search} />
      </FilterSheet>
      {search.event_type && !types && (
        <Chip name="type" value={search.event_type} onRemove={() => set({ event_type: undefined })} />
      )}
      {search.event_id && (
        <Chip name="event" value={search.event_id} onRemove={() => set({ event_id: undefined })} />
      )}
      <RangeChip search={search} name="created" />
      {search.from && failedMs > 0 && (
        <span className="soft small">{t`Starts earlier: what failed from ${formatClock(failedMs, shownZone, Date.now())} on can have been created before.`}</span>
      )}
    </div>
  );
}

/** Attempts over time. A drag narrows the list to a range. The figures know no event types. */
export function DeliveryHistogram({ search }: { search: DeliverySearch }) {
  const { refetchInterval } = useLive();
  const { webhook_id, workspace_id } = search;
  const isKnown = !search.event_type && !search.event_id;
  const { data: stats } = useQuery({
    ...rangeStatsQuery(search, { webhook_id, workspace_id }),
    enabled: isKnown,
    refetchInterval,
  });
  // The list matters more: without figures, there is no empty chart above it.
  if (!isKnown || !stats || isQuiet(stats)) return null;
  const bars = barsOf(stats);
  const { delivered, failed_attempts: failed } = stats.totals;
  return (
    <Histogram
      name={t`Attempts over time`}
      says={`${t`${delivered} delivered, ${failed} failed attempts`} ${periodOf(search)}`}
      bars={bars}
      label={t`${delivered} delivered, ${failed} failed attempts over time`}
      {...deliverySeries(bars)}
    />
  );
}
