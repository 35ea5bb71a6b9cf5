import type { Config } from './config.js';
import { urlOf } from './listening.js';

/** Returns a function that links to the console. Browsers do not send the fragment, so no log contains the token. */
export function consoleLinks(config: Config, publicUrl: string | undefined): (token?: string) => string {
  const base = config.publicOrigin ?? publicUrl ?? urlOf(config.host, config.port);
  return (token) => `${base}/console${token === undefined ? '' : `#token=${token}`}`;
}
