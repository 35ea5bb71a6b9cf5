import { productName, useSettings } from '../api/settings';
import { Empty } from '../parts/states';
import { type Scope, useToken } from './token';

/** Says which of the scopes that a view needs the token does not have. */
export function Forbidden({ action, scopes }: { action: string; scopes: Scope[] }) {
  const holder = useToken().portal ? 'session' : 'token';
  return (
    <Empty title={`This ${holder} cannot ${action}`}>
      <p>
        <MissingScopes scopes={scopes} />
      </p>
    </Empty>
  );
}

/** Says which of the scopes the token does not have, and whom to ask for them. */
export function MissingScopes({ scopes }: { scopes: Scope[] }) {
  const token = useToken();
  const name = productName(useSettings());
  const missing = scopes.filter((scope) => !token.scopes.includes(scope));
  return (
    <>
      It lacks the {missing.length === 1 ? 'scope' : 'scopes'}{' '}
      {missing.map((scope, index) => (
        <span key={scope}>
          {index > 0 && ' and '}
          <code>{scope}</code>
        </span>
      ))}
      . Ask {token.portal ? `${name} for a session` : 'the operator for a token'} that has{' '}
      {missing.length === 1 ? 'it' : 'them'}.
    </>
  );
}
