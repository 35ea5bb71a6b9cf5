import type { Delivery, ListAllDeliveriesQuery } from '@posthorn/client';

/** The states that `--status` accepts. Both `retrying` and `given_up` are `failed`; the API tells them apart by `final`. */
export const deliveryStates = ['success', 'failed', 'retrying', 'given_up'] as const;
type DeliveryState = (typeof deliveryStates)[number];

/** Returns the state of a delivery as every command prints it. */
export function stateOf({ status, final }: Pick<Delivery, 'status' | 'final'>): DeliveryState | 'pending' {
  if (status !== 'failed') return status;
  return final ? 'given_up' : 'retrying';
}

/** Returns whether a delivery waits until its webhook is active: it has not ended, but has no next attempt. */
export function isHeld({
  final,
  next_attempt_at: next,
}: Pick<Delivery, 'final' | 'next_attempt_at'>): boolean {
  return !final && next === null;
}

/** Returns the parameters of the API that select the deliveries in a state. */
export function queryOf(state: DeliveryState | undefined): Pick<ListAllDeliveriesQuery, 'status' | 'final'> {
  switch (state) {
    case 'retrying':
      return { status: 'failed', final: 'false' };
    case 'given_up':
      return { status: 'failed', final: 'true' };
    default:
      return { status: state };
  }
}
