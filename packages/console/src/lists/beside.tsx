import { Link, type LinkProps, useNavigate, useSearch } from '@tanstack/react-router';
import {
  type CSSProperties,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useState,
} from 'react';
import { type Search, useSetSearch } from '../address/search';
import { lastingStorage } from '../browser/storage';
import { createStore, useStore } from '../browser/store';
import { IconButton } from '../parts/icon';
import { t } from '../text/language';

/** Below this, a list has no room for a detail beside it: a row opens a page. */
const wide = matchMedia('(min-width: 1440px)');
const isWide = createStore(wide.matches);
wide.addEventListener('change', () => isWide.set(wide.matches));

const widthName = 'posthorn.beside';
const widthMin = 420;
const widthMax = 1_000;
const stepPx = 32;

/** What is open beside the list, by its ID in the URL, and what makes a row open it there. */
export function useBeside() {
  const inUrl = useSearch({ strict: false, select: ({ open }) => open });
  const hasRoom = useStore(isWide);
  const open = hasRoom ? inUrl : undefined;
  const navigate = useNavigate();
  const rowProps = useCallback(
    (id: string): RowProps =>
      hasRoom
        ? {
            'aria-current': open === id ? true : undefined,
            onClick: (event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey) return;
              event.preventDefault();
              void navigate({
                to: '.',
                search: (now: Search) => ({ ...now, open: id, attempt: undefined }),
                replace: open !== undefined,
                resetScroll: false,
              });
            },
          }
        : {},
    [hasRoom, open, navigate],
  );
  return { open, rowProps };
}

export interface RowProps {
  'aria-current'?: true | undefined;
  onClick?: (event: MouseEvent<HTMLAnchorElement>) => void;
}

/** A list and, if there is room and something is open, its detail beside it. The border between them can be moved. */
export function Beside({
  detail,
  page,
  children,
}: {
  detail: ReactNode;
  /** Where the detail is a page of its own. */
  page: LinkProps;
  children: ReactNode;
}) {
  const set = useSetSearch({ replace: true });
  const [width, setWidth] = useState(() => Number(lastingStorage.get(widthName)) || 620);

  function resize(to: number): void {
    const px = Math.max(widthMin, Math.min(widthMax, Math.round(to)));
    setWidth(px);
    lastingStorage.set(widthName, String(px));
  }

  function onMove({ buttons, clientX, currentTarget }: PointerEvent): void {
    const border = currentTarget.getBoundingClientRect();
    const { right } = currentTarget.parentElement!.getBoundingClientRect();
    if (buttons === 1) resize(right - clientX - border.width / 2);
  }

  return (
    // The list stays the same element, with its focus, when a detail opens beside it.
    <div className={detail ? 'beside' : undefined} style={{ '--detail': `${width}px` } as CSSProperties}>
      <div className="pane">{children}</div>
      {detail && (
        <>
          {/* biome-ignore lint/a11y/useSemanticElements: a line between paragraphs cannot be moved */}
          <div
            className="divider"
            role="separator"
            aria-orientation="vertical"
            aria-label={t`Width of the detail`}
            aria-valuenow={width}
            aria-valuemin={widthMin}
            aria-valuemax={widthMax}
            tabIndex={0}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={onMove}
            onKeyDown={({ key }) => {
              if (key === 'ArrowLeft') resize(width + stepPx);
              if (key === 'ArrowRight') resize(width - stepPx);
            }}
          />
          <section className="pane detail" aria-label={t`Detail`}>
            <div className="pane-actions">
              <Link {...page} className="link small">{t`Open as a page`}</Link>
              <IconButton
                label={t`Close the detail`}
                onClick={() => set({ open: undefined, attempt: undefined })}
              />
            </div>
            {detail}
          </section>
        </>
      )}
    </div>
  );
}
