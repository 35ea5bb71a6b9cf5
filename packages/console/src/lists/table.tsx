import type { CSSProperties, ReactNode } from 'react';

export interface Column {
  name: ReactNode;
  className?: string;
  /** Without a width, a column shares what the others leave. */
  width?: string;
  /** Its width on a phone, if that is another one. */
  onPhone?: string;
}

/** The head of a table whose columns keep their widths, whatever is in their cells. */
export function Table({ columns, children }: { columns: readonly Column[]; children: ReactNode }) {
  return (
    <table>
      <thead>
        <tr>
          {columns.map(({ name, className, width, onPhone = width }, index) => (
            <th
              // biome-ignore lint/suspicious/noArrayIndexKey: the columns of a table keep their places
              key={index}
              className={className}
              style={{ '--width': width, '--width-on-phone': onPhone } as CSSProperties}
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
