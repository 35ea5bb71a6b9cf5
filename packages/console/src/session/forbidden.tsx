import type { ComponentType } from 'react';
import { productName, useSettings } from '../api/settings';
import { Empty } from '../parts/states';
import { rich, t } from '../text/language';
import { type Scope, useToken } from './token';

/** What a view is for, and the scopes that a token needs for it. */
export type Need = [action: string, scopes: Scope[]];

/** Shows a view to a token with its scopes. To any other, it says which of them are missing. */
export function Gate({ need: [action, scopes], view: View }: { need: Need; view: ComponentType }) {
  const token = useToken();
  if (scopes.every((scope) => token.scopes.includes(scope))) return <View />;
  return (
    <Empty title={token.portal ? t`This session cannot ${action}` : t`This token cannot ${action}`}>
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
  const list = <code>{missing.join(', ')}</code>;
  return token.portal
    ? rich`Missing: ${list}. Ask ${name} for a session that has it.`
    : rich`Missing: ${list}. Ask the operator for a token that has it.`;
}
