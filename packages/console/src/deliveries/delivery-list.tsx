import type { Delivery, Page, Webhook } from '@posthorn/client';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useListRange } from '../address/list-range';
import { useLive } from '../address/live';
import { hasFilter } from '../address/search';
import { inWorkspace, WorkspaceNote } from '../address/workspace';
import { type DeliveryFilter, deliveryPagesQuery, deliveryStates, loadMatching } from '../api/deliveries';
import { webhookNames } from '../api/webhook-name';
import { webhooksQuery } from '../api/webhooks';
import { Beside, type RowProps, useBeside } from '../lists/beside';
import { Listed } from '../lists/more';
import { type Column, Table } from '../lists/table';
import { DeliveryLink } from '../parts/links';
import { usePermission } from '../session/token';
import { formatMs } from '../text/format';
import { plural, t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { ClockTime, Countdown, TimeAgo } from '../text/time';
import { TypeName } from '../text/type-name';
import { DeliveryView } from './delivery-detail';
import { DeliveryFilters, DeliveryHistogram, type DeliverySearch } from './delivery-filters';
import { DeliveryTag, HeldNote } from './delivery-tag';
import { isHeld, rereadAfterMs } from './next-attempt';
import { NoDeliveries, NoneSoFar } from './no-deliveries';
import { RedeliverSelection } from './redeliver-selection';

export function DeliveryList() {
  return (
    <>
      <h1>{t`Deliveries`}</h1>
      <WorkspaceNote />
      <DeliveryTable />
    </>
  );
}

const columns: Column[] = [
  { name: t`Created`, className: 'wide', width: '112px' },
  { name: t`Event`, width: '236px', onPhone: 'auto' },
  { name: t`Webhook`, className: 'wide' },
  { name: t`State`, className: 'r-narrow', width: '96px', onPhone: '92px' },
  { name: t`Response`, className: 'wide', width: '148px' },
  { name: t`Attempts`, className: 'r wide roomy', width: '78px' },
  { name: t`Next`, className: 'r wide roomy', width: '158px' },
];

/** The deliveries of all webhooks, or of one. */
export function DeliveryTable({ webhook }: { webhook?: Webhook }) {
  const { state: stateInUrl, ...others }: DeliverySearch = useSearch({ strict: false });
  const state = deliveryStates.find((one) => one === stateInUrl);
  // An unknown state is ignored.
  const search: DeliverySearch = state ? { ...others, state } : others;
  const may = usePermission();
  const { refetchInterval } = useLive();
  const filter: DeliveryFilter = {
    webhook_id: webhook?.id ?? search.webhook_id,
    // A webhook's list shows all of its deliveries, even if the other views are limited to a workspace.
    workspace_id: webhook ? undefined : search.workspace_id,
    state,
    event_type: search.event_type,
    event_id: search.event_id,
    ...useListRange(search),
  };
  const query = useInfiniteQuery({
    ...deliveryPagesQuery(filter),
    // Without live mode, too: a row must not say for long that an attempt is due.
    refetchInterval: ({ state }) => refetchInterval || dueInMs(state.data?.pages ?? []),
  });
  const { data: webhooks } = useQuery({ ...webhooksQuery, enabled: webhook === undefined });
  const [selected, setSelected] = useState<ReadonlyMap<string, Delivery>>(new Map());
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const shown = new Map(rows.map((row) => [row.id, row]));
  const shownAndSelected = rows.filter(({ id }) => selected.has(id)).length;
  const searchedTo = query.data?.pages.at(-1)?.searchedTo;
  const listed = webhooks && inWorkspace(webhooks, search.workspace_id);
  const names = webhookNames(webhooks ?? []);
  const isFiltered = hasFilter(search);

  const isEmpty = query.data !== undefined && rows.length === 0 && !query.hasNextPage;

  const { open, rowProps } = useBeside();
  const [openWebhook = '', openDelivery = ''] = open?.split('/') ?? [];

  /** Selects what matches the filters, as far as one search reaches. */
  async function selectMatching(): Promise<void> {
    const { data } = await loadMatching(filter);
    toggle(data, true);
  }

  function toggle(chosen: readonly Delivery[], isOn: boolean): void {
    setSelected((now) => {
      const next = new Map(now);
      for (const delivery of chosen) {
        if (isOn) next.set(delivery.id, delivery);
        else next.delete(delivery.id);
      }
      return next;
    });
  }

  const selectAll = (
    <label>
      <input
        type="checkbox"
        aria-label={t`Select all deliveries shown`}
        checked={shownAndSelected === rows.length}
        ref={(box) => {
          if (box) box.indeterminate = shownAndSelected > 0 && shownAndSelected < rows.length;
        }}
        onChange={(event) => toggle(rows, event.target.checked)}
      />
    </label>
  );

  return (
    <Beside
      detail={open && <DeliveryView key={open} webhookId={openWebhook} deliveryId={openDelivery} />}
      page={{
        to: '/webhooks/$webhookId/deliveries/$deliveryId',
        params: { webhookId: openWebhook, deliveryId: openDelivery },
      }}
    >
      {/* There is nothing to filter if there are no deliveries at all. */}
      {!(isEmpty && !isFiltered) && (
        <DeliveryFilters search={search} filter={filter} webhooks={webhook ? undefined : (listed ?? [])} />
      )}
      {!webhook && !isEmpty && <DeliveryHistogram search={search} />}
      <Listed
        query={query}
        count={rows.length}
        all={plural(rows.length, '{0} delivery', 'All {0} deliveries')}
        searchedTo={searchedTo}
        empty={
          query.hasNextPage ? (
            <NoneSoFar searchedTo={searchedTo} query={query} />
          ) : (
            <NoDeliveries filter={filter} isFiltered={isFiltered} webhook={webhook} webhooks={webhooks} />
          )
        }
      >
        <Table
          columns={[
            ...(may.send ? [{ name: selectAll, className: 'select-cell', width: '34px' }] : []),
            // The list of one webhook does not repeat its name.
            ...columns.filter(({ name }) => !webhook || name !== t`Webhook`),
          ]}
        >
          {rows.map((delivery) => (
            <Row
              key={delivery.id}
              delivery={delivery}
              name={webhook ? undefined : (names.get(delivery.webhook_id) ?? delivery.webhook_id)}
              linkProps={rowProps(`${delivery.webhook_id}/${delivery.id}`)}
              isSelected={selected.has(delivery.id)}
              onSelect={may.send ? (isOn) => toggle([delivery], isOn) : undefined}
            />
          ))}
        </Table>
      </Listed>
      {selected.size > 0 && (
        <RedeliverSelection
          // A row may have changed since it was selected.
          deliveries={[...selected.values()].map((one) => shown.get(one.id) ?? one)}
          hidden={selected.size - shownAndSelected}
          onDeselect={(sent) => toggle(sent, false)}
          onSelectAll={query.hasNextPage && shownAndSelected === rows.length ? selectMatching : undefined}
        />
      )}
    </Beside>
  );
}

/** Returns how soon an attempt of one of the rows will have been made. All pages are read again, one after another. */
function dueInMs(pages: readonly Page<Delivery>[]): number | false {
  const due = pages.flatMap(({ data }) => data.map((row) => (row.final ? undefined : row.next_attempt_at)));
  const ms = rereadAfterMs(due, Date.now());
  return ms && ms * Math.max(1, pages.length);
}

function Row({
  delivery,
  name,
  linkProps,
  isSelected,
  onSelect,
}: {
  delivery: Delivery;
  /** Undefined if the webhook is fixed. */
  name: string | undefined;
  linkProps: RowProps;
  isSelected: boolean;
  onSelect: ((isOn: boolean) => void) | undefined;
}) {
  return (
    <tr>
      {onSelect && (
        <td className="select-cell">
          <label>
            <input
              type="checkbox"
              aria-label={t`Select ${delivery.event_type} ${delivery.id}`}
              checked={isSelected}
              onChange={(event) => onSelect(event.target.checked)}
            />
          </label>
        </td>
      )}
      <td className="wide soft">
        <ClockTime at={delivery.created_at} />
      </td>
      <td>
        <DeliveryLink className="row-link mono" of={delivery} {...linkProps}>
          <TypeName type={delivery.event_type} />
        </DeliveryLink>
        {/* A long name is shortened, not what follows it. */}
        <span className="second parts narrow">
          {name !== undefined && <span className="cut">{name}</span>}
          <span>{isHeld(delivery) ? t`waiting for the webhook` : outcomeOf(delivery)}</span>
        </span>
      </td>
      {name !== undefined && <td className="wide">{name}</td>}
      <td className="r-narrow">
        <DeliveryTag delivery={delivery} />
        <span className="second narrow">
          <TimeAgo at={delivery.created_at} />
        </span>
      </td>
      <td className="wide">
        {outcomeOf(delivery)}
        {delivery.duration_ms !== null && <span className="soft"> · {formatMs(delivery.duration_ms)}</span>}
      </td>
      <td className="r wide roomy soft">{delivery.attempts}</td>
      <td className="r wide roomy soft">
        {!delivery.final && delivery.next_attempt_at && <Countdown to={delivery.next_attempt_at} />}
        {isHeld(delivery) && <HeldNote webhookId={delivery.webhook_id} />}
      </td>
    </tr>
  );
}
