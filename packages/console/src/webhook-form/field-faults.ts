import type { PosthornError } from '@posthorn/client';
import { useState } from 'react';
import { faultOf } from '../api/problem';

export type FieldFaults = ReturnType<typeof useFieldFaults>;

/**
 * What is wrong with the fields of a form: what the API said about them, unless something else was found since. A
 * later problem replaces all of it.
 */
export function useFieldFaults(problem: PosthornError | undefined) {
  const [since, setSince] = useState<{ problem: typeof problem; faults: Record<string, string | undefined> }>(
    {
      problem,
      faults: {},
    },
  );
  const faultsIn = (state: typeof since) => (state.problem === problem ? state.faults : {});
  const faults = faultsIn(since);
  return {
    of: (field: string) => (field in faults ? faults[field] : faultOf(problem, field)),
    /** Replaces what is wrong with a field. Undefined removes it. */
    set: (field: string, fault: string | undefined) =>
      setSince((now) => ({ problem, faults: { ...faultsIn(now), [field]: fault } })),
  };
}
