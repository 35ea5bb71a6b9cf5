import type { Config } from './config.js';
import { urlOf } from './listening.js';

/** Puts the token in the fragment, which browsers do not send, so it does not appear in server or proxy logs. */
export function consoleLinks(config: Config, publicUrl: string | undefined): (token?: string) => string {
  const base = config.publicOrigin ?? publicUrl ?? urlOf(config.host, config.port);
  return (token) => `${base}/console${token === undefined ? '' : `#token=${token}`}`;
}
