import { type UseMutationOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { newActionKey } from '../text/identifier';
import { problemIn } from './problem';

/**
 * Returns a mutation that ignores calls while it runs. Disabling its button is not enough: the second click of a
 * double click can come before React has rendered the disabled button. A dialog that is opened again while it runs shows
 * that it runs, and how it ends. If what the mutation is about no longer exists, everything on the page is loaded again.
 *
 * The callbacks in the options are called even if the user has left. What must not happen then, such as opening another
 * view, belongs in the callbacks that are passed to `mutate`.
 */
export function useAction<T, V = void>(options: UseMutationOptions<T, Error, V>) {
  const client = useQueryClient();
  const isRunning = useRef(false);
  const mutation = useMutation<T, Error, V>({
    ...options,
    onError: (error, ...rest) => {
      // What the action was about no longer exists, so the page must stop showing it.
      if (problemIn(error)?.code === 'not_found') void client.invalidateQueries();
      return options.onError?.(error, ...rest);
    },
    onSettled: () => {
      isRunning.current = false;
    },
  });
  const mutate: typeof mutation.mutate = (...call) => {
    if (isRunning.current) return;
    isRunning.current = true;
    mutation.mutate(...call);
  };
  const reset = () => {
    if (!isRunning.current) mutation.reset();
  };
  return { ...mutation, mutate, reset };
}

/**
 * Returns a function that returns a key for the body of a request. It is the same key whenever the body is the same, so
 * that a request that is sent again because there was no response takes effect once.
 */
export function useRequestKey(): (body: unknown) => string {
  const keys = useRef(new Map<string, string>());
  return (body) => {
    const text = JSON.stringify(body);
    const key = keys.current.get(text) ?? newActionKey();
    keys.current.set(text, key);
    return key;
  };
}
