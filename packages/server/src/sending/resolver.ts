import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The addresses of a name. */
export interface Addresses extends ReadonlyArray<string> {
  /** Whether the name is known only to this machine or its network. If so, others must not learn its addresses. */
  areInternal?: boolean;
}

/** Returns every address of a name, or rejects if there is none. */
export type ResolveName = (hostname: string) => Promise<Addresses>;

export interface ResolverOptions {
  /** Name servers and search domains to use instead of the machine's, for tests. */
  servers?: readonly string[];
  search?: readonly string[];
  /** How long to wait for a name server on each try. */
  tryMs?: number;
}

const defaultTryMs = 1_500;
const tries = 2;
/** How long the machine's DNS settings and hosts file are cached. */
const settingsMs = 30_000;
const searchDomainsMax = 6;

/**
 * Creates a resolver. It uses `getaddrinfo` for the machine's own names: those in its hosts file, and names without a
 * dot. It sends all others to the name servers directly: `getaddrinfo` occupies one of Node's few threads until it
 * returns, so a few unresponsive name servers would block all other lookups.
 */
export function createResolver(options: ResolverOptions = {}): ResolveName {
  const asked = new Map<string, Promise<Addresses>>();
  const settings = new Settings(options);

  async function resolve(hostname: string): Promise<Addresses> {
    const { resolver, hosts, search } = await settings.read();
    const name = hostname.toLowerCase().replace(/\.$/, '');
    if (!name.includes('.') || name.endsWith('.localhost') || hosts.has(name)) return systemLookup(hostname);
    // Try the name itself, then the name in each search domain: a cluster has names such as `hook.team.svc`.
    const candidates = hostname.endsWith('.')
      ? [name]
      : [name, ...search.map((domain) => `${name}.${domain}`)];
    let reason: NodeJS.ErrnoException | undefined;
    for (const candidate of candidates) {
      const answers = await Promise.allSettled([resolver.resolve4(candidate), resolver.resolve6(candidate)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length > 0)
        return candidate === name && !isInternal(name, search) ? addresses : internal(addresses);
      reason ??= (answers[0] as PromiseRejectedResult).reason as NodeJS.ErrnoException;
      if (!['ENOTFOUND', 'ENODATA'].includes(reason.code ?? '')) break;
    }
    // No name server is reachable, but the machine may have some other way to resolve the name.
    if (reason?.code === 'ECONNREFUSED') return systemLookup(hostname);
    throw reason;
  }

  // Concurrent lookups of the same name share one query.
  return (hostname) => {
    const pending = asked.get(hostname);
    if (pending !== undefined) return pending;
    const addresses = resolve(hostname).finally(() => asked.delete(hostname));
    asked.set(hostname, addresses);
    return addresses;
  };
}

async function systemLookup(hostname: string): Promise<Addresses> {
  const entries = await lookup(hostname, { all: true, verbatim: true });
  return internal(entries.map(({ address }) => address));
}

/** Returns whether a name is in a search domain, or in a domain that is reserved for private networks. */
function isInternal(name: string, search: readonly string[]): boolean {
  return [...search, 'internal', 'local', 'home.arpa'].some((domain) =>
    name.endsWith(`.${domain.toLowerCase()}`),
  );
}

function internal(addresses: string[]): Addresses {
  return Object.assign(addresses, { areInternal: true });
}

interface Known {
  resolver: Resolver;
  hosts: ReadonlySet<string>;
  search: readonly string[];
}

/** The name servers, the search domains and the names in the hosts file, read again from time to time. */
class Settings {
  readonly #options: ResolverOptions;
  #known: Promise<Known> | undefined;
  #readAtMs = 0;

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  read(): Promise<Known> {
    const nowMs = performance.now();
    if (this.#known === undefined || nowMs - this.#readAtMs > settingsMs) {
      this.#readAtMs = nowMs;
      this.#known = this.#load();
    }
    return this.#known;
  }

  async #load(): Promise<Known> {
    const { servers, search, tryMs = defaultTryMs } = this.#options;
    const resolver = new Resolver({ timeout: tryMs, tries });
    if (servers) resolver.setServers(servers);
    const hosts = namesIn(await this.#text(hostsPath()));
    return { resolver, hosts, search: search ?? searchDomainsIn(await this.#text('/etc/resolv.conf')) };
  }

  /**
   * Returns the text of a file, or an empty string. If the file exists but cannot be read, the next lookup tries again.
   */
  #text(path: string): Promise<string> {
    return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') this.#readAtMs = Number.NEGATIVE_INFINITY;
      return '';
    });
  }
}

/** Returns the search domains. If there are several lines, the last one wins. */
function searchDomainsIn(settings: string): readonly string[] {
  const line = settings.split('\n').findLast((text) => /^\s*(search|domain)\s/.test(text)) ?? '';
  const domains = line.trim().split(/\s+/).slice(1);
  return domains
    .map((domain) => domain.replace(/\.$/, ''))
    .filter((domain) => domain !== '')
    .slice(0, searchDomainsMax);
}

function hostsPath(): string {
  if (process.platform !== 'win32') return '/etc/hosts';
  return join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts');
}

/** Returns the names in a hosts file: each line is an address and its names, and # starts a comment. */
function namesIn(hosts: string): ReadonlySet<string> {
  const names = hosts.split('\n').flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1));
  return new Set(names.map((name) => name.toLowerCase()));
}
