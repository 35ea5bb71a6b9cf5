import { type RefObject, useEffect, useRef, useState } from 'react';

/**
 * Returns a ref for an element, and whether that element is on screen or at most `marginPx` away from it, and has been
 * for `forMs`.
 */
export function useOnScreen<E extends Element>({
  marginPx = 300,
  forMs = 0,
} = {}): [ref: RefObject<E | null>, isOnScreen: boolean] {
  const ref = useRef<E>(null);
  const [isOnScreen, setOnScreen] = useState(false);
  useEffect(() => {
    if (!ref.current) return;
    let timer: ReturnType<typeof setTimeout>;
    const observer = new IntersectionObserver(
      (entries) => {
        clearTimeout(timer);
        if (entries.at(-1)?.isIntersecting) timer = setTimeout(() => setOnScreen(true), forMs);
        else setOnScreen(false);
      },
      { rootMargin: `${marginPx}px` },
    );
    observer.observe(ref.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [marginPx, forMs]);
  return [ref, isOnScreen];
}
