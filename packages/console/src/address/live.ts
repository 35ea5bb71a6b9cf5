import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { copyMemory } from './entry-memory';
import type { Search } from './search';

const refreshMs = 5_000;

/** The switch for live mode, which is stored in the URL, and how often a list is refreshed: not unless it is on. */
export function useLive() {
  const isLive = useSearch({ strict: false, select: ({ live }) => live === '1' });
  const navigate = useNavigate();
  const { history } = useRouter();
  const toggle = async () => {
    const replaced = history.location;
    await navigate({
      to: '.',
      search: (now: Search) => ({ ...now, live: isLive ? undefined : '1' }),
      replace: true,
      resetScroll: false,
    });
    // It is still the same list.
    copyMemory(replaced, history.location);
  };
  const refetchInterval: number | false = isLive && refreshMs;
  return { isLive, toggle: () => void toggle(), refetchInterval };
}
