import type { Event, Page, Token } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { useWorkspace } from '../address/workspace';
import { webhooksQuery } from '../api/webhooks';
import { Icon } from '../parts/icon';
import { permissionOf } from '../session/token';
import { t } from '../text/language';

const all = { id: '', name: t`All workspaces` };
const shownMax = 12;

/** Limits every view to one workspace. Suggests the workspaces in the loaded data, but accepts any ID. */
export function WorkspaceField({ token }: { token: Token }) {
  const { workspaceId = '', choose } = useWorkspace();
  /** What is typed, or undefined as long as the field shows the workspace. */
  const [typed, setTyped] = useState<string>();
  const [known, setKnown] = useState<string[]>();
  const [at, setAt] = useState<number>();
  const seen = useSeenWorkspaces(token);
  const listId = useId();
  const isOpen = known !== undefined;
  const options = isOpen ? optionsFor(typed, known) : [];
  // What is typed chooses the first option. A list that was only opened chooses nothing.
  const chosen = options[at ?? (typed?.trim() ? 0 : -1)];

  // Another workspace in the address replaces what was typed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect is for the change of the workspace
  useEffect(close, [workspaceId]);

  function close(): void {
    setKnown(undefined);
    setTyped(undefined);
    setAt(undefined);
  }

  function apply(option: Option | undefined): void {
    close();
    if (option && option.id !== workspaceId) choose(option.id || undefined);
  }

  function onKey(event: KeyboardEvent<HTMLInputElement>): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const from = chosen ? options.indexOf(chosen) : step > 0 ? -1 : 0;
      if (isOpen) setAt((from + options.length + step) % options.length);
      else setKnown(seen());
    }
    if (event.key === 'Enter') apply(chosen);
    if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      close();
    }
  }

  return (
    <div className="workspace">
      <label>
        <input
          className={workspaceId ? 'pill chosen' : 'pill'}
          role="combobox"
          aria-label={t`Workspace`}
          aria-expanded={isOpen}
          aria-controls={listId}
          aria-activedescendant={chosen && `${listId}-${options.indexOf(chosen)}`}
          placeholder={all.name}
          title={t`Show one workspace only`}
          autoComplete="off"
          spellCheck={false}
          value={typed ?? workspaceId}
          onClick={() => (isOpen ? close() : setKnown(seen()))}
          onBlur={() => apply(typed === undefined ? undefined : chosen)}
          onChange={({ target }) => {
            // Clearing the field needs no Enter.
            if (target.value === '') return apply(all);
            setTyped(target.value);
            setKnown(seen());
            setAt(undefined);
          }}
          onKeyDown={onKey}
        />
        <Icon name="expand" size={12} />
      </label>
      {isOpen && (
        <div className="workspaces">
          <div id={listId} role="listbox" aria-label={t`Workspaces`}>
            {options.map((option, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys
              <div
                key={option.id}
                id={`${listId}-${index}`}
                className="cut"
                role="option"
                tabIndex={-1}
                aria-selected={option === chosen}
                // Otherwise the field loses the focus, and the list closes before the click.
                onMouseDown={(event) => event.preventDefault()}
                onMouseMove={() => setAt(index)}
                onClick={() => apply(option)}
              >
                {option.name}
              </div>
            ))}
          </div>
          {known.length === 0 && !typed && (
            <p className="soft small">{t`Or type an ID, such as WS-berlin.`}</p>
          )}
        </div>
      )}
    </div>
  );
}

interface Option {
  /** Empty means all workspaces. */
  id: string;
  name: string;
}

/** Returns what can be chosen: the known workspaces that match, then the workspace with the ID that was typed. */
function optionsFor(typed: string | undefined, known: readonly string[]): Option[] {
  const text = typed?.trim() ?? '';
  if (text === '') return [all, ...known.map(optionOf)].slice(0, shownMax);
  const id = `WS-${text.replace(/^ws-/i, '')}`;
  const matching = known.filter((one) => one !== id && one.toLowerCase().includes(text.toLowerCase()));
  // A whole ID comes first: it can be the start of others.
  const isWhole = /^ws-/i.test(text) || known.includes(id);
  return (isWhole ? [id, ...matching] : [...matching, id]).map(optionOf).slice(0, shownMax);
}

function optionOf(id: string): Option {
  return { id, name: id };
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
