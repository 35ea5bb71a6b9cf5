/** Webhooks that may have been deleted: the outcome of the request is unknown. */
const unresolvedDeletions = new Set<string>();

export function rememberDeletion(webhookId: string): void {
  unresolvedDeletions.add(webhookId);
}

/** Returns whether the webhook may have been deleted. If it is not found, it was. */
export function isDeletionUnresolved(webhookId: string): boolean {
  return unresolvedDeletions.has(webhookId);
}
