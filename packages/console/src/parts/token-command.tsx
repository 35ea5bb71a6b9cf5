import { useState } from 'react';
import { session } from '../session';
import { useStore } from '../store';
import { CodeBlock } from './code-block';

/** A command with the token of this tab: hidden on the screen until it is asked for, complete when copied. */
export function TokenCommand({ title, command }: { title: string; command: (token: string) => string }) {
  const state = useStore(session);
  const [isShown, setShown] = useState(false);
  const token = state.kind === 'open' ? state.token : '';
  return (
    <CodeBlock
      title={title}
      text={command(token)}
      what="the command with the token"
      aside={
        <button type="button" className="link" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide the token' : 'Show the token'}
        </button>
      }
    >
      {command(isShown ? token : `${token.slice(0, 4)}••••••••`)}
    </CodeBlock>
  );
}
