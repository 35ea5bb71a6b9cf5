import { useState } from 'react';
import { session } from '../session';
import { useStore } from '../store';
import { CodeBlock } from './code-block';

/**
 * A command that contains the token of this tab. The token is hidden until the user shows it, but it is
 * always copied.
 */
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
