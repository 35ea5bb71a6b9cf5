import type { Token } from '@posthorn/client';

/** The API reference of the public listener, which also explains how to receive webhooks. */
export const referencePath = '/docs';

/** Returns whether the user has use for the reference. Customers in a portal session have no token for the API. */
export function mayOpenReference(token: Token): boolean {
  return !token.portal;
}
