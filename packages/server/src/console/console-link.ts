import type { Config } from '../settings/config.js';
import { urlOf } from '../settings/listening.js';

/** Returns the address of the public API for clients. `listenerUrl` is undefined if another node has the role. */
export function publicUrlOf(config: Config, listenerUrl: string | undefined): string {
  return config.publicOrigin ?? listenerUrl ?? urlOf(config.host, config.port);
}

/** Returns a function that links to the console. Browsers do not send the fragment, so no log contains the token. */
export function consoleLinks(config: Config, publicUrl: string | undefined): (token?: string) => string {
  const base = publicUrlOf(config, publicUrl);
  return (token) => `${base}/console${token === undefined ? '' : `#token=${token}`}`;
}
