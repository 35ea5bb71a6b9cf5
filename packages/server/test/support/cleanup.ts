import { afterAll } from 'vitest';

type Step = () => unknown;

const steps: Step[] = [];

/**
 * Done after the tests of the file, the latest first. Unlike `afterAll` it can be called at any time,
 * also by a test.
 */
export function afterFile(step: Step): void {
  steps.push(step);
}

/** Called for every file: modules are shared by the files of a worker, what they opened is not. */
export function cleanUpAfterFile(): void {
  afterAll(async () => {
    for (const step of steps.splice(0).reverse()) await step();
  });
}
