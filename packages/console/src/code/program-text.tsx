/** Comments, strings, numbers and the words of the languages in which receivers are shown. */
const pattern =
  /(?<note>(?:\/\/|#(?!\{)).*)|(?<string>`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|(?<word>\b(?:async|await|class|const|def|end|export|from|func|function|if|import|in|not|or|package|return|static|throw|var|new)\b)|(?<number>\b\d+\b)/g;

/** Source code with colors. */
export function ProgramText({ text }: { text: string }) {
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
