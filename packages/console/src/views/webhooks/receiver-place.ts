/** Where a receiver listens. */
export interface ReceiverPlace {
  path: string;
  port: string;
}

const usual: ReceiverPlace = { path: '/webhooks', port: '3000' };

/** Has the same meaning in a string and in a route of every framework. */
const plainPath = /^(\/[\w.~-]+)+\/?$|^\/$/;

const loopback = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Returns where the receiver of a URL listens: at the URL's path, and on its port if the receiver is on this machine.
 * Any other host may forward requests to a different port.
 */
export function placeOf(url: string): ReceiverPlace {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return usual;
  const { protocol, hostname, port, pathname } = new URL(url);
  const isLocal = loopback.test(hostname);
  return {
    path: plainPath.test(pathname) ? pathname : usual.path,
    port: isLocal ? port || (protocol === 'https:' ? '443' : '80') : usual.port,
  };
}
