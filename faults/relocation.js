import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from './command.js';
import { platformToken } from './node.js';
import { organization } from './producer.js';

/** The move of the organization, as an operator makes it and as both cells show it. */
export class Relocation {
  #world;
  #cells;
  #commands = 0;
  #attempts;
  isOver = false;

  constructor(world, east, west) {
    this.#world = world;
    this.#cells = { east, west };
  }

  /** Starts the command that moves the organization. */
  start(...options) {
    this.#commands += 1;
    const { east, west } = this.#cells;
    const args = ['organization', 'move', organization, '--to', west.cluster.url, ...options];
    return new Command(
      args,
      { DATABASE_URL: east.cluster.url },
      join(this.#world.path, `move-${this.#commands}.log`),
    );
  }

  /** Notes how many attempts the old cell has made when the organization has left it. */
  async watch() {
    const { cluster, node } = this.#cells.east;
    while (!this.isOver && this.#attempts === undefined) {
      const states = await cluster.query('select state from posthorn.relocations').catch(() => []);
      if (['left', 'moved'].includes(states[0]?.state))
        this.#attempts = await attemptsOf(node).then(
          (count) => ({ count, pid: node.pid }),
          () => undefined,
        );
      await wait(20);
    }
  }

  /** Returns whether a cell acts for the organization, according to its database. */
  async worksIn(name) {
    const { cluster } = this.#cells[name];
    const rows = await cluster.query(
      `select from posthorn.relocations where organization_id = $1 and state <> 'copying'`,
      [organization],
    );
    return rows.length === 0;
  }

  /** Checks that the organization lives in the new cell only. */
  async check() {
    const { node, cluster } = this.#cells.east;
    const promise = (text, holds) => this.#world.expect(text, holds);
    promise('the organization works in the new cell', await this.worksIn('west'));
    promise('the organization does not work in the old cell', !(await this.worksIn('east')));
    const [{ rows }] = await cluster.query(
      `select (select count(*) from posthorn.events) + (select count(*) from posthorn.deliveries)
            + (select count(*) from posthorn.webhooks) as rows`,
    );
    promise('the old cell keeps no events, deliveries and webhooks', Number(rows) === 0);
    // A node that was started again counts from 0.
    const before = this.#attempts?.pid === node.pid ? this.#attempts.count : 0;
    promise('nothing is delivered from the old cell after the switch', (await attemptsOf(node)) === before);
    const args = ['audit', 'verify', '--organization', organization];
    const verify = new Command(
      args,
      { DATABASE_URL: this.#cells.west.cluster.url },
      join(this.#world.path, 'audit.log'),
    );
    promise('the audit log can be verified in the new cell', (await verify.end()) === 0);
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
