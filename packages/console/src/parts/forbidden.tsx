import { type Scope, useToken } from '../permission';
import { Empty } from './empty';

/** Says which of the scopes that a view needs the token does not have. */
export function Forbidden({ action, scopes }: { action: string; scopes: Scope[] }) {
  const token = useToken();
  const missing = scopes.filter((scope) => !token.scopes.includes(scope));
  const holder = token.portal ? 'session' : 'token';
  return (
    <Empty title={`This ${holder} cannot ${action}`}>
      <p>
        It lacks the {missing.length === 1 ? 'scope' : 'scopes'}{' '}
        {missing.map((scope, index) => (
          <span key={scope}>
            {index > 0 && ' and '}
            <code>{scope}</code>
          </span>
        ))}
        . Ask the operator for a {holder} that has {missing.length === 1 ? 'it' : 'them'}.
      </p>
    </Empty>
  );
}
