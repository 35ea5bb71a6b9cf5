import { useRef } from 'react';
import { newActionKey } from './identifier';

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
