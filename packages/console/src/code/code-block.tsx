import type { ReactNode } from 'react';
import { CopyButton } from '../parts/copy';

/** Text as it is, with a title and a button that copies it. */
export function CodeBlock({
  title,
  text,
  what,
  aside,
  isProgram = false,
  children,
}: {
  title: ReactNode;
  text: string;
  what: string;
  aside?: ReactNode;
  /** Whether the text is source code. Its lines are not wrapped. */
  isProgram?: boolean;
  children?: ReactNode;
}) {
  return (
    <section className="box">
      <header>
        <h3>{title}</h3>
        <span className="grow cut r">{aside}</span>
        <CopyButton text={text} what={what} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre className={isProgram ? 'code program' : 'code'} tabIndex={0}>
        {children ?? text}
      </pre>
    </section>
  );
}
