/**
 * Secrets that this page has just generated, by webhook. They are in memory only: the code sample shows them until the
 * page is closed or reloaded.
 */
const secrets = new Map<string, string>();

export function keepFreshSecret(webhookId: string, secret: string): void {
  secrets.set(webhookId, secret);
}

export function freshSecretOf(webhookId: string): string | undefined {
  return secrets.get(webhookId);
}
