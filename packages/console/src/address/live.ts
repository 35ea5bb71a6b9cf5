import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { copyMemory } from './entry-memory';

const refreshMs = 5_000;

export interface Live {
  isLive: boolean;
  toggle: () => void;
  /** How often a list is refreshed. False unless live mode is on. */
  refetchInterval: number | false;
}

/** The switch for live mode, which is stored in the URL. */
export function useLive(): Live {
  const isLive = useSearch({ strict: false, select: ({ live }) => live === '1' });
  const navigate = useNavigate();
  const { history } = useRouter();
  const toggle = async () => {
    const replaced = history.location;
    await navigate({
      to: '.',
      search: (search) => ({ ...search, live: isLive ? undefined : '1' }) as never,
      replace: true,
      resetScroll: false,
    });
    // It is still the same list.
    copyMemory(replaced, history.location);
  };
  return {
    isLive,
    toggle: () => void toggle(),
    refetchInterval: isLive ? refreshMs : false,
  };
}
