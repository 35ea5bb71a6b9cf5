import type { Event, Page, Token } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useWorkspace } from '../address/workspace';
import { webhooksQuery } from '../api/webhooks';
import { Icon } from '../parts/icon';
import { permissionOf } from '../session/token';
import { t } from '../text/language';

/** Limits every view to one workspace. Suggests the workspaces in the loaded data, but accepts any ID. */
export function WorkspaceField({ token }: { token: Token }) {
  const { workspaceId = '', choose } = useWorkspace();
  /** What is typed, or undefined as long as the field shows the workspace. */
  const [typed, setTyped] = useState<string>();
  const [known, setKnown] = useState<string[]>([]);
  const seen = useSeenWorkspaces(token);
  const listId = useId();

  function apply(id: string | undefined): void {
    setTyped(undefined);
    if (id !== workspaceId) choose(id);
  }

  return (
    <div className="workspace">
      <label>
        <input
          className={workspaceId ? 'pill chosen' : 'pill'}
          type="search"
          list={listId}
          aria-label={t`Workspace`}
          placeholder={t`All workspaces`}
          title={t`Show one workspace only, such as WS-berlin`}
          autoComplete="off"
          spellCheck={false}
          value={typed ?? workspaceId}
          onFocus={() => setKnown(seen())}
          onBlur={() => typed && apply(idFor(typed, known))}
          onChange={({ target: { value } }) => {
            // Neither clearing the field nor a choice from the list needs Enter.
            if (value === '' || known.includes(value)) apply(value || undefined);
            else setTyped(value);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && typed) apply(idFor(typed, known));
            if (event.key !== 'Escape') return;
            // The browser would clear the field, and with it the workspace.
            event.preventDefault();
            setTyped(undefined);
          }}
        />
        <Icon name="expand" size={12} />
      </label>
      <datalist id={listId}>
        {known.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </div>
  );
}

/** Returns the workspace that a text means: a known one with it in its ID, or the one with that ID. */
function idFor(text: string, known: readonly string[]): string {
  const id = `WS-${text.trim().replace(/^ws-/i, '')}`;
  if (/^ws-/i.test(text.trim()) || known.includes(id)) return id;
  return known.find((one) => one.toLowerCase().includes(text.trim().toLowerCase())) ?? id;
}

/** Returns a function that lists the workspaces of the webhooks and of the events that were loaded. */
function useSeenWorkspaces(token: Token): () => string[] {
  const client = useQueryClient();
  const { data: webhooks = [] } = useQuery({
    ...webhooksQuery,
    enabled: permissionOf(token.scopes).readWebhooks,
  });
  return () => {
    const events = client
      .getQueriesData<{ pages: Page<Event>[] }>({ queryKey: ['events'] })
      .flatMap(([, data]) => data?.pages.flatMap((page) => page.data) ?? []);
    const names = [...webhooks, ...events].flatMap(({ workspace_id }) => workspace_id ?? []);
    return [...new Set(names)].sort();
  };
}
