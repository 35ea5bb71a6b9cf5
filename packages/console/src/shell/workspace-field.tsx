import type { Event, Page, Token } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useState } from 'react';
import { webhooksQuery } from '../api/webhooks';
import { permissionOf } from '../permission';
import { useWorkspace } from '../workspace';

/** Limits every view to one workspace. Suggests the workspaces in the loaded data, but accepts any ID. */
export function WorkspaceField({ token }: { token: Token }) {
  const { workspaceId = '', choose } = useWorkspace();
  const [text, setText] = useState(workspaceId);
  const [applied, setApplied] = useState(workspaceId);
  const [known, setKnown] = useState<string[]>([]);
  const seen = useSeenWorkspaces(token);
  const listId = useId();
  useEffect(() => {
    setText(workspaceId);
    setApplied(workspaceId);
  }, [workspaceId]);
  const isWrong = text === applied && !isPossible(text);

  function apply(value: string): void {
    const next = value.trim();
    setText(next);
    setApplied(next);
    if (next !== workspaceId && isPossible(next)) choose(next || undefined);
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
          className={workspaceId && !isWrong ? 'pill chosen' : 'pill'}
          type="search"
          list={listId}
          aria-label="Workspace"
          aria-invalid={isWrong}
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
      {isWrong && (
        <span className="fault" role="alert">
          Workspace IDs start with WS-, such as WS-berlin.
        </span>
      )}
      <datalist id={listId}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </form>
  );
}

/** Returns whether there can be a workspace with this ID. Empty means all workspaces. */
function isPossible(id: string): boolean {
  return id === '' || id.startsWith('WS-');
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
