import pg from 'pg';

const schema = `
  create table events (
    id text primary key, organization_id text not null, workspace_id text, type text not null,
    actor json not null, subject json not null, payload json not null, created_at timestamptz not null);
  create index on events (organization_id, created_at);
  create table deliveries (
    event_id text not null, attempt int not null, attempted_at timestamptz not null, http_status int not null,
    duration_ms int not null, is_success boolean not null, primary key (event_id, attempt));
  create index on deliveries (attempted_at)`;

/** Inserts the events of a JSON array. */
export const insertEvents =
  'insert into events select * from json_populate_recordset(null::events, $1::json)';

/** The tables that a team would make: events to read, and a log of the attempts. Far fewer indexes than Posthorn's. */
export class Tables {
  #waiting = [];
  #isWriting = false;

  constructor(connectionString) {
    this.pool = new pg.Pool({ connectionString, max: 20 });
  }

  async create() {
    await this.pool.query(schema);
  }

  /** Runs statements in one transaction. */
  async transaction(work) {
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      await work(client);
      await client.query('commit');
    } finally {
      client.release();
    }
  }

  /** Writes rows of the delivery log in one statement. */
  async log(rows) {
    await this.pool.query({
      name: 'log',
      text: 'insert into deliveries select * from json_populate_recordset(null::deliveries, $1::json)',
      values: [JSON.stringify(rows)],
    });
  }

  /** Writes one row. Rows that come while a commit is under way share the next one, as in Posthorn. */
  logOne(row) {
    return new Promise((written, failed) => {
      this.#waiting.push({ row, written, failed });
      if (!this.#isWriting) this.#write();
    });
  }

  async #write() {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const taken = this.#waiting.splice(0, 500);
      await this.log(taken.map(({ row }) => row)).then(
        () =>
          taken.forEach(({ written }) => {
            written();
          }),
        (error) =>
          taken.forEach(({ failed }) => {
            failed(error);
          }),
      );
    }
    this.#isWriting = false;
  }

  async count() {
    const { rows } = await this.pool.query('select count(*)::int as logged from deliveries where is_success');
    return rows[0].logged;
  }
}
