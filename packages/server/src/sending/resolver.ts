import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Answers every address of a name, or rejects where there is none. */
export type ResolveName = (hostname: string) => Promise<readonly string[]>;

export interface ResolverOptions {
  /** Name servers and domains to search other than the machine's, for tests. */
  servers?: readonly string[];
  search?: readonly string[];
}

const tryMs = 1_500;
const tries = 2;
/** How long the machine's name servers and its file of hosts are taken to be the same. */
const settingsMs = 30_000;
const searchedMax = 6;

/**
 * The machine's own names (its file of hosts, and names without a dot) are looked up as every program does
 * it. All others are asked of the name servers directly: the usual way, `getaddrinfo`, holds one of Node's
 * few threads until an answer comes, so that some names whose server stays silent would stop all others.
 */
export function createResolver(options: ResolverOptions = {}): ResolveName {
  const asked = new Map<string, Promise<readonly string[]>>();
  const settings = new Settings(options);

  async function resolve(hostname: string): Promise<readonly string[]> {
    const { resolver, hosts, search } = await settings.read();
    const name = hostname.toLowerCase().replace(/\.$/, '');
    if (!name.includes('.') || name.endsWith('.localhost') || hosts.has(name)) return lookUp(hostname);
    // As it stands first, then within the domains of the machine, as `hook.team.svc` is meant in a cluster.
    const candidates = hostname.endsWith('.')
      ? [name]
      : [name, ...search.map((domain) => `${name}.${domain}`)];
    let reason: NodeJS.ErrnoException | undefined;
    for (const candidate of candidates) {
      const answers = await Promise.allSettled([resolver.resolve4(candidate), resolver.resolve6(candidate)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length > 0) return addresses;
      reason ??= (answers[0] as PromiseRejectedResult).reason as NodeJS.ErrnoException;
      if (!['ENOTFOUND', 'ENODATA'].includes(reason.code ?? '')) break;
    }
    // There is no name server to ask; whatever else the machine knows of names by, it may know this one.
    if (reason?.code === 'ECONNREFUSED') return lookUp(hostname);
    throw reason;
  }

  // Connections that want the same name share one question.
  return (hostname) => {
    const pending = asked.get(hostname);
    if (pending !== undefined) return pending;
    const answer = resolve(hostname).finally(() => asked.delete(hostname));
    asked.set(hostname, answer);
    return answer;
  };
}

async function lookUp(hostname: string): Promise<readonly string[]> {
  const entries = await lookup(hostname, { all: true, verbatim: true });
  return entries.map(({ address }) => address);
}

interface Known {
  resolver: Resolver;
  hosts: ReadonlySet<string>;
  search: readonly string[];
}

/** Which name servers there are and which names need none, read anew now and then. */
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
      this.#known = this.#readAnew();
    }
    return this.#known;
  }

  async #readAnew(): Promise<Known> {
    const { servers, search } = this.#options;
    const resolver = new Resolver({ timeout: tryMs, tries });
    if (servers) resolver.setServers(servers);
    const hosts = namesIn(await this.#text(hostsPath()));
    return { resolver, hosts, search: search ?? searchedIn(await this.#text('/etc/resolv.conf')) };
  }

  /** What is missing is empty; what could not be read now is read again with the next name. */
  #text(path: string): Promise<string> {
    return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') this.#readAtMs = Number.NEGATIVE_INFINITY;
      return '';
    });
  }
}

/** The last line that names domains counts. */
function searchedIn(settings: string): readonly string[] {
  const line = settings.split('\n').findLast((text) => /^\s*(search|domain)\s/.test(text)) ?? '';
  const domains = line.trim().split(/\s+/).slice(1);
  return domains
    .map((domain) => domain.replace(/\.$/, ''))
    .filter((domain) => domain !== '')
    .slice(0, searchedMax);
}

function hostsPath(): string {
  if (process.platform !== 'win32') return '/etc/hosts';
  return join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts');
}

/** Each line is an address and its names; a # begins a remark. */
function namesIn(hosts: string): ReadonlySet<string> {
  const names = hosts.split('\n').flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1));
  return new Set(names.map((name) => name.toLowerCase()));
}
