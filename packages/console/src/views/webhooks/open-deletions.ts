/** Webhooks that may have been deleted: the outcome of the request is unknown. */
const openDeletions = new Set<string>();

export function keepDeletion(webhookId: string): void {
  openDeletions.add(webhookId);
}

/** If so, that a webhook is not found means that it was deleted. */
export function isDeletionOpen(webhookId: string): boolean {
  return openDeletions.has(webhookId);
}
