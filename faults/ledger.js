/**
 * Compares what was acknowledged with what arrived at the receivers and with what the API lists.
 *
 * - `acknowledged`: the ID of each event that the platform listener acknowledged, by its number
 * - `events`: what `GET /v1/events` lists
 * - `doors`: for each webhook, which events pass its filter, what its receiver got and what the API lists of its deliveries
 * - `faults`: what was done to the system, and when
 */
export function balance({ acknowledged, events, doors, faults }) {
  const faulty = [];
  const note = (text) => faulty.length < 20 && faulty.push(text);
  const { byNumber, twice } = numbered(events);
  if (twice > 0) note(`${twice} events are listed twice`);
  let [acknowledgedCount, delivered, listed, inDoubt] = [0, 0, 0, 0];

  const deliveries = doors.map((door) => deliveriesOf(door, note));
  const isDelivered = (number) =>
    doors.every(({ succeeded, passes }) => (succeeded[number] ?? 0) > 0 === passes(number));
  const isListed = (number, id) =>
    deliveries.every(
      (byEvent, index) => byEvent.get(id) === (doors[index].passes(number) ? 'success' : undefined),
    );
  const count = Math.max(acknowledged.length, byNumber.length);
  for (let number = 0; number < count; number += 1) {
    const [given, stored] = [acknowledged[number], byNumber[number]];
    if (given === undefined && stored === undefined) continue;
    if (given === undefined) inDoubt += 1;
    else acknowledgedCount += 1;
    const [arrived, shown] = [isDelivered(number), stored !== undefined && isListed(number, stored)];
    if (given !== undefined && arrived) delivered += 1;
    if (given !== undefined && shown && stored === given) listed += 1;
    const isComplete = arrived && shown && (given === undefined || stored === given);
    if (!isComplete) note(describe(number, given, stored, doors, deliveries));
  }
  const forged = doors.reduce((sum, door) => sum + door.forged, 0);
  if (forged > 0) note(`${forged} requests had a wrong signature`);
  const duplicates = explain(doors, faults);
  if (duplicates.unexplained > 0)
    note(`${duplicates.unexplained} duplicates without a fault that explains them: ${duplicates.first}`);
  return {
    acknowledged: acknowledgedCount,
    delivered,
    listed,
    lost: acknowledgedCount - Math.min(delivered, listed),
    inDoubt,
    duplicates,
    faulty,
  };
}

function numbered(events) {
  const byNumber = [];
  let twice = 0;
  for (const { id, subject } of events) {
    const number = Number(/(\d+)$/.exec(subject.id)[1]);
    if (byNumber[number] !== undefined) twice += 1;
    byNumber[number] = id;
  }
  return { byNumber, twice };
}

/** Returns the status of the delivery of each event. There must be exactly one, and it must be final. */
function deliveriesOf({ path, deliveries }, note) {
  const byEvent = new Map();
  for (const { event_id, status, final } of deliveries) {
    if (byEvent.has(event_id)) note(`${path}: ${event_id} has two deliveries`);
    byEvent.set(event_id, final ? status : `${status}, not final`);
  }
  return byEvent;
}

function describe(number, given, stored, doors, deliveries) {
  const shown = doors.map(({ path, arrived, succeeded }, index) => {
    const status = deliveries[index].get(stored ?? given) ?? 'not listed';
    return `${path} got ${arrived[number] ?? 0}, accepted ${succeeded[number] ?? 0}, ${status}`;
  });
  return `event ${number}: acknowledged ${given ?? 'no'}, listed ${stored ?? 'no'}; ${shown.join('; ')}`;
}

/**
 * Counts the requests that came after a receiver had responded with success. Each needs a fault between the two that
 * began before the event was settled, or a response that came after the time limit of the attempt:
 * - `unsettled`: the same attempt again, because its outcome was never written
 * - `retried`: a later attempt, because the response did not reach the node
 */
function explain(doors, faults) {
  const duplicates = { total: 0, unsettled: 0, retried: 0, unexplained: 0, by: {} };
  for (const { again } of doors) {
    for (const { seq, atMs, firstAtMs, attempt, firstAttempt, isLate } of again) {
      duplicates.total += 1;
      duplicates[attempt === firstAttempt ? 'unsettled' : 'retried'] += 1;
      const fault = faults.find(
        ({ fromMs, toMs, settled }) => firstAtMs <= toMs && atMs >= fromMs && !settled.has(seq),
      );
      if (fault === undefined && !isLate) {
        duplicates.unexplained += 1;
        duplicates.first ??= describeDuplicate(faults, firstAtMs, atMs);
      }
      const kind = fault?.kind ?? (isLate ? 'the response came after the time limit' : 'nothing');
      duplicates.by[kind] = (duplicates.by[kind] ?? 0) + 1;
    }
  }
  return duplicates;
}

function describeDuplicate(faults, firstAtMs, atMs) {
  const last = faults.findLast(({ fromMs }) => fromMs <= firstAtMs);
  const after = last ? `${firstAtMs - last.toMs} ms after the end of '${last.kind}'` : 'before any fault';
  return `the first was accepted ${after}, and came again ${atMs - firstAtMs} ms later`;
}
