import { beforeEach, expect, type TestContext } from 'vitest';
import { cleanUpAfterFile } from './cleanup.js';
import { holdsPromise } from './promises.js';

cleanUpAfterFile();

type Task = TestContext['task'];
let file = '';
let holds: ReturnType<typeof holdsPromise>;

/** A test that holds a promise fails if it asserts nothing, so its body cannot be emptied unnoticed. */
beforeEach(({ task }) => {
  if (task.file.filepath !== file) {
    file = task.file.filepath;
    holds = holdsPromise(file);
  }
  const names: string[] = [];
  // The rows have the names as they are written, with `%s`, so tests of `each` count by their groups.
  for (let one: Task | Task['suite'] = task; one; one = one.suite) names.push(one.name);
  if (holds(names)) expect.hasAssertions();
});
