import { Problem } from '../values/problem.js';

const tailsPerTokenMax = 20;
const tailsPerOrganizationMax = 100;

/** The tails that are open in this process, limited for each token and each organization. */
export class OpenTails {
  /** By the ID of a token or an organization. */
  readonly #counts = new Map<string, number>();

  /** Counts a tail until the returned function is called. Throws a problem if there are too many. */
  add({ id, organization_id }: { id: string; organization_id: string }): () => void {
    this.#check(id, tailsPerTokenMax, 'A token');
    this.#check(organization_id, tailsPerOrganizationMax, 'An organization');
    for (const one of [id, organization_id]) this.#counts.set(one, this.#countOf(one) + 1);
    return () => {
      for (const one of [id, organization_id]) {
        const left = this.#countOf(one) - 1;
        if (left > 0) this.#counts.set(one, left);
        else this.#counts.delete(one);
      }
    };
  }

  #check(id: string, max: number, owner: string): void {
    if (this.#countOf(id) < max) return;
    throw new Problem('rate_limited', `${owner} can have at most ${max} open tails per node.`, {
      headers: { 'Retry-After': '15' },
    });
  }

  #countOf(id: string): number {
    return this.#counts.get(id) ?? 0;
  }
}
