import { join } from 'node:path';
import { Command } from './command.js';
import { platformToken } from './node.js';
import { organization } from './producer.js';

/** The move of the organization, as an operator makes it and as both cells show it. */
export class Relocation {
  #world;
  #cells;
  #commands = 0;

  constructor(world, east, west) {
    this.#world = world;
    this.#cells = { east, west };
  }

  /** Starts a command about the organization in the old cell. `to` is the database of the other one. */
  start(options = [], { name = 'move', to = this.#cells.west.url } = {}) {
    this.#commands += 1;
    const { east } = this.#cells;
    const args = ['organization', name, organization, '--to', to, ...options];
    return new Command(
      args,
      { DATABASE_URL: east.url },
      join(this.#world.path, `move-${this.#commands}.log`),
    );
  }

  /** Returns the state of the organization in a cell, according to its database. */
  async stateIn(name) {
    const rows = await this.#cells[name].cluster.query(
      'select state from posthorn.relocations where organization_id = $1',
      [organization],
    );
    return rows[0]?.state ?? 'here';
  }

  async worksIn(name) {
    return (await this.stateIn(name)) === 'here';
  }

  /** Runs the command again until it succeeds, as the guide says. */
  async complete(tries = 5) {
    for (let tried = 1; ; tried += 1) {
      const command = this.start();
      if ((await command.end()) === 0) return;
      if (tried === tries) throw new Error(`the move did not succeed: ${command.output}`);
    }
  }

  /** Checks that the organization lives in the new cell only, and that the old copy can be deleted. */
  async check() {
    const { node } = this.#cells.east;
    const promise = (text, holds) => this.#world.expect(text, holds);
    promise('the organization works in the new cell', await this.worksIn('west'));
    promise('the organization does not work in the old cell', !(await this.worksIn('east')));
    const before = await attemptsOf(node);
    const args = ['audit', 'verify', '--organization', organization];
    const verify = new Command(
      args,
      { DATABASE_URL: this.#cells.west.url },
      join(this.#world.path, 'audit.log'),
    );
    promise('the audit log can be verified in the new cell', (await verify.end()) === 0);
    promise('the old cell makes no attempt after the move', (await attemptsOf(node)) === before);
    const forget = this.start(['--yes', '--now'], { name: 'forget' });
    promise('the old copy can be deleted', (await forget.end()) === 0);
    const [{ rows }] = await this.#cells.east.cluster.query(
      `select (select count(*) from posthorn.events) + (select count(*) from posthorn.deliveries)
            + (select count(*) from posthorn.webhooks) as rows`,
    );
    promise('the old cell keeps no events, deliveries and webhooks', Number(rows) === 0);
  }
}

/** Returns how many attempts a node has made. */
async function attemptsOf({ platformUrl }) {
  const response = await fetch(`${platformUrl}/metrics`, {
    headers: { authorization: `Bearer ${platformToken}` },
  });
  const counts = (await response.text()).matchAll(/^posthorn_delivery_attempts_total\{[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
