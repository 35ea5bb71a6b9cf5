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
        {children ?? (isProgram ? <ProgramText text={text} /> : text)}
      </pre>
    </section>
  );
}

/** Comments, strings, numbers and the words of the languages in which receivers are shown. */
const pattern =
  /(?<note>(?:\/\/|#(?!\{)).*)|(?<string>`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|(?<word>\b(?:async|await|class|const|def|end|export|from|func|function|if|import|in|not|or|package|return|static|throw|var|new)\b)|(?<number>\b\d+\b)/g;

/** Source code with colors. */
function ProgramText({ text }: { text: string }) {
  const pieces: React.ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? ['note'];
    pieces.push(
      text.slice(end, match.index),
      <span key={match.index} className={`t-${kind === 'word' ? 'key' : kind}`}>
        {match[0]}
      </span>,
    );
    end = match.index + match[0].length;
  }
  return [...pieces, text.slice(end)];
}
