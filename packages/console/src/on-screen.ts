import { type RefObject, useEffect, useRef, useState } from 'react';

/** Returns a ref for an element, and whether that element is on screen or close to it. */
export function useOnScreen<E extends Element>(): [ref: RefObject<E | null>, isOnScreen: boolean] {
  const ref = useRef<E>(null);
  const [isOnScreen, setOnScreen] = useState(false);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => setOnScreen(entries.at(-1)?.isIntersecting === true),
      { rootMargin: '300px' },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, isOnScreen];
}
