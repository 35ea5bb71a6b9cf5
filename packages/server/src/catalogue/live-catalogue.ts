import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database } from '../postgres/database.js';
import { Repeating } from '../signals/timers.js';
import { type Catalogue, createCatalogue } from './catalogue.js';
import { type OwnCatalogue, typesOf } from './catalogue-file.js';
import { changeCatalogue, holdFile, readCatalogue, readRevision, releaseFile } from './catalogue-store.js';

const everyMs = 1_000;
/** If a node with a file dies, the API can change the catalogue after this time. */
const fileLeaseMs = 10_000;

/** The catalogue of a node: it follows the database, which has the file's types if the node has a file. */
export class LiveCatalogue implements Catalogue {
  readonly #database: Database;
  readonly #file: OwnCatalogue | undefined;
  readonly #logger: Logger;
  readonly #node = randomUUID();
  #current: Catalogue;
  #revision: string | undefined;
  #repeating: Repeating | undefined;

  constructor(database: Database, file: OwnCatalogue | undefined, logger: Logger) {
    this.#database = database;
    this.#file = file;
    this.#logger = logger;
    const own = file ?? { builtin: true, types: [] };
    this.#current = createCatalogue(typesOf(own), own.builtin);
  }

  async start(): Promise<void> {
    await this.#hold();
    if (this.#file) await changeCatalogue(this.#database, this.#file, { fromFile: true });
    await this.refresh();
    this.#repeating ??= new Repeating(everyMs, () => this.#follow(), this.#logger);
  }

  async #follow(): Promise<void> {
    await this.#hold();
    await this.refresh();
  }

  async #hold(): Promise<void> {
    if (this.#file) await holdFile(this.#database, this.#node, fileLeaseMs);
  }

  /** Reads the catalogue again if it has changed. */
  async refresh(): Promise<void> {
    if (this.#revision === (await readRevision(this.#database))) return;
    const { revision, catalogue } = await readCatalogue(this.#database);
    this.#current = catalogue;
    this.#revision = revision;
  }

  async stop(): Promise<void> {
    if (!this.#repeating) return;
    await this.#repeating.stop();
    if (this.#file) await releaseFile(this.#database, this.#node).catch(() => undefined);
  }

  get current(): Catalogue {
    return this.#current;
  }

  get builtin(): boolean {
    return this.#current.builtin;
  }

  readonly get: Catalogue['get'] = (type) => this.#current.get(type);
  readonly list: Catalogue['list'] = () => this.#current.list();
}
