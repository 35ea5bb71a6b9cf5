import type { Event, Page, Token } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useState } from 'react';
import { webhooksQuery } from '../api/webhooks';
import { permissionOf } from '../permission';
import { useWorkspace } from '../workspace';

/** Limits every view to one workspace. Suggests the workspaces in the loaded data, but accepts any. */
export function WorkspaceField({ token }: { token: Token }) {
  const { workspaceId = '', choose } = useWorkspace();
  const [text, setText] = useState(workspaceId);
  const [known, setKnown] = useState<string[]>([]);
  const seen = useSeenWorkspaces(token);
  const listId = useId();
  useEffect(() => setText(workspaceId), [workspaceId]);

  function apply(value: string): void {
    const next = value.trim();
    setText(next);
    if (next !== workspaceId) choose(next || undefined);
  }

  return (
    <form
      className="workspace"
      onSubmit={(event) => {
        event.preventDefault();
        apply(text);
      }}
    >
      <label>
        <input
          className={workspaceId ? 'pill chosen' : 'pill'}
          type="search"
          list={listId}
          aria-label="Workspace"
          placeholder="Workspace"
          title="Show one workspace only"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onFocus={() => setKnown(seen())}
          onBlur={() => apply(text)}
          onChange={({ target }) => {
            setText(target.value);
            // A choice from the list, or clearing the field, needs no Enter.
            if (target.value === '' || known.includes(target.value)) apply(target.value);
          }}
        />
      </label>
      <datalist id={listId}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </form>
  );
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
