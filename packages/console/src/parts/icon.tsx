import type { ComponentProps, ReactNode } from 'react';

const paths = {
  copy: <path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />,
  done: <path d="m3 8.5 3.5 3.5L13 4.5" />,
  expand: <path d="m4 6 4 4 4-4" />,
  search: <path d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Zm3.3 7.8L14 14" />,
  account: <path d="M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8Zm-5.5 6a5.5 5.5 0 0 1 11 0" />,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  overview: <path d="M2 13V9m4 4V4m4 9V7m4 6V2" />,
  events: <path d="M2 4h12M2 8h12M2 12h7" />,
  webhooks: (
    <path d="M6 8h4M2.5 8a3 3 0 0 1 3-3M13.5 8a3 3 0 0 1-3 3M5.5 11a3 3 0 0 1-3-3m8-3a3 3 0 0 1 3 3" />
  ),
  deliveries: <path d="M2 8h11M9 4l4 4-4 4" />,
  more: <path d="M3 8h.01M8 8h.01M13 8h.01" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.4 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {paths[name]}
    </svg>
  );
}

/** A button that shows only an icon. */
export function IconButton({
  label,
  icon = 'close',
  size = 14,
  ...rest
}: ComponentProps<'button'> & { label: string; icon?: IconName; size?: number }) {
  return (
    <button type="button" className="icon-btn" aria-label={label} {...rest}>
      <Icon name={icon} size={size} />
    </button>
  );
}
