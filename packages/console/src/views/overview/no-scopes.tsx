import { Link } from '@tanstack/react-router';
import { Empty } from '../../parts/empty';

export function NoScopes() {
  return (
    <Empty
      title="This token cannot see anything"
      isPage
      actions={
        <Link to="/token" className="btn">
          About this token
        </Link>
      }
    >
      <p>
        It is valid, but it has no scopes. Ask the operator for a token with <code>events:read</code> or{' '}
        <code>webhooks:read</code>.
      </p>
    </Empty>
  );
}
