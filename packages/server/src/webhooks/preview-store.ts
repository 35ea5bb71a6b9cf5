import type { StoredEvent } from '../events/event.js';
import { type EventFilter, eventPage } from '../events/event-store.js';
import type { Queryable } from '../postgres/database.js';

export interface Preview {
  examined: number;
  matched: number;
  is_complete: boolean;
  /** The newest events that match, newest first. */
  events: readonly StoredEvent[];
}

const examinedMax = 10_000;
/** Reading the payloads must not take longer than a statement may. */
const bytesMax = 64 * 1024 * 1024;
const shownMax = 10;

/** Finds out which of the newest events in a range a webhook would have got. */
export async function previewWebhook(
  database: Queryable,
  range: EventFilter,
  eventTypes: readonly string[],
  filterPath: string | null,
): Promise<Preview> {
  const page = eventPage(range, examinedMax + 1);
  const bind = (value: unknown) => `$${page.values.push(value)}`;
  const { rows } = await database.query<Omit<Preview, 'events'> & Partial<StoredEvent>>({
    text: `
  with found as (
    select *, row_number() over newest as n, sum(bytes) over newest - bytes as before
      from (${page.text}) page
    window newest as (rows unbounded preceding)
  ), examined as materialized (
    select n, created_at, id,
           n <= ${examinedMax} and before < ${bytesMax} as is_examined,
           n <= ${examinedMax} and before < ${bytesMax}
             and ${bind(eventTypes)}::text[] && array[type, split_part(type, '.', 1) || '.*', '*']
             and (${bind(filterPath)}::jsonpath is null
                  or posthorn.filterable(workspace_id, subject_type, subject_id, actor_type, actor_id, payload)
                       @? $${page.values.length}) as matches
      from found
  ), counts as (
    select (count(*) filter (where is_examined))::int as examined, (count(*) filter (where matches))::int as matched,
           coalesce(bool_and(is_examined), true) as is_complete
      from examined
  )
  select c.*, e.*
    from counts c
    left join (select n, created_at, id from examined where matches order by n limit ${shownMax}) m on true
    left join posthorn.events e
      on e.organization_id = $1 and e.created_at = m.created_at and e.id = m.id
   order by m.n`,
    values: page.values,
  });
  const { examined, matched, is_complete } = rows[0]!;
  const events = rows.filter(
    (row): row is typeof row & StoredEvent => row.id !== undefined && row.id !== null,
  );
  return { examined, matched, is_complete, events };
}
