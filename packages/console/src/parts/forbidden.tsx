import type { Scope } from '../permission';
import { Empty } from './empty';

/** Says which scope a view needs that the token does not have. */
export function Forbidden({ what, scopes }: { what: string; scopes: Scope[] }) {
  return (
    <Empty title={`This token cannot see ${what}`}>
      <p>
        It lacks the scope{' '}
        {scopes.map((scope, index) => (
          <span key={scope}>
            {index > 0 && ' or '}
            <code>{scope}</code>
          </span>
        ))}
        . Ask the operator for a token that has it.
      </p>
    </Empty>
  );
}
