/** Reports why an organization cannot be moved. It stays where it is. */
export class RelocationRefused extends Error {
  override name = 'RelocationRefused';
}
