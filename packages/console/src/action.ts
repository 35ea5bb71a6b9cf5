import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

type Action<T, V> = Pick<UseMutationResult<T, Error, V>, 'mutate' | 'reset' | 'data' | 'error'> &
  Pick<UseMutationResult<T, Error, V>, 'isPending' | 'isSuccess'>;

/**
 * Returns a mutation that ignores calls while it runs. Disabling its button is not enough: the second click of a
 * double click can come before React has rendered the disabled button.
 */
export function useAction<T, V = void>(options: UseMutationOptions<T, Error, V>): Action<T, V> {
  const isRunning = useRef(false);
  const mutation = useMutation<T, Error, V>({
    ...options,
    onSettled: () => {
      isRunning.current = false;
    },
  });
  const mutate: typeof mutation.mutate = (...call) => {
    if (isRunning.current) return;
    isRunning.current = true;
    mutation.mutate(...call);
  };
  return { ...mutation, mutate };
}
