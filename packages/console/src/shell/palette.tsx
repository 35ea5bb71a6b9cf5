import type { EventType, Token, Webhook } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useMemo, useState } from 'react';
import type { Search } from '../address/search';
import { eventTypesQuery } from '../api/events';
import { webhookName } from '../api/webhook-name';
import { webhooksQuery } from '../api/webhooks';
import { theme, themes } from '../browser/preferences';
import { Dialog } from '../parts/dialog';
import { permissionOf } from '../session/token';
import { t } from '../text/language';
import { consoleAddressIn, isShortFor, loadedIds, unquoted, wholeIdIn } from './pasted';
import { overlay, referencePath, tokenViewName, viewsOf } from './views';

interface Target {
  name: string;
  /** More text about it, which is also searched. */
  detail?: string;
  what: string;
  go: () => void;
}

type LinkTo = (name: string, what: string, path: string, search?: Search) => Target;
type Navigate = ReturnType<typeof useNavigate>;

const shownMax = 12;

/** Opens any view, webhook, event type or identifier. */
export function Palette({ token }: { token: Token }) {
  const may = permissionOf(token.scopes);
  const navigate = useNavigate();
  const { data: webhooks } = useQuery({ ...webhooksQuery, enabled: may.readWebhooks });
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: may.readEvents });
  const { history } = useRouter();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const client = useQueryClient();
  // Read once: the views behind the palette must not change its results.
  const [ids] = useState(() => loadedIds(client));
  const found = useMemo(() => {
    const plain = unquoted(text);
    const address = consoleAddressIn(plain);
    if (address)
      return [
        { name: address, what: t`Open this address`, go: () => history.push(address) } satisfies Target,
      ];
    return targetsFor(plain, token, navigate, webhooks ?? [], types ?? [], ids);
  }, [text, token, navigate, history, webhooks, types, ids]);
  const chosen = found[Math.min(at, found.length - 1)];

  function open(target: Target | undefined): void {
    if (!target) return;
    overlay.set(undefined);
    target.go();
  }

  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((found.length + Math.min(at, found.length - 1) + step) % Math.max(1, found.length));
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      open(chosen);
    }
  }

  return (
    <Dialog title={t`Go anywhere`} isUntitled className="palette" onClose={() => overlay.set(undefined)}>
      <input
        role="combobox"
        aria-label={t`Go to`}
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={chosen ? `${listId}-${found.indexOf(chosen)}` : undefined}
        placeholder={t`View, webhook, event type, ID or end of an ID`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div className="results" id={listId} role="listbox" aria-label={t`Results`} tabIndex={-1}>
        {found.map((target, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys
          <div
            key={`${target.what} ${target.name}`}
            id={`${listId}-${index}`}
            className="result"
            role="option"
            tabIndex={-1}
            aria-selected={target === chosen}
            onMouseMove={() => setAt(index)}
            onClick={() => open(target)}
          >
            <span className="cut">
              {target.name} {target.detail && <span className="soft small">{target.detail}</span>}
            </span>
            <span className="what">{target.what}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="soft" role="status">{t`Nothing matches.`}</p>}
    </Dialog>
  );
}

function targetsFor(
  text: string,
  token: Token,
  navigate: Navigate,
  webhooks: readonly Webhook[],
  types: readonly EventType[],
  ids: readonly string[],
): Target[] {
  const may = permissionOf(token.scopes);
  const to: LinkTo = (name, what, path, search = {}) => ({
    name,
    what,
    go: () => void navigate({ to: path, search } as never),
  });
  const whole = wholeIdIn(text);
  const short = ids.filter((id) => id !== whole && isShortFor(text, id));
  const identified = [...(whole ? [whole] : []), ...short].flatMap((id) => targetsOfId(id, token, to));
  const all: Target[] = [
    ...viewsOf(token).map(({ name, to: path, key }) => to(name, `g ${key}`, path)),
    ...(may.send ? [to(t`New webhook`, t`Action`, '/webhooks/new')] : []),
    to(tokenViewName(token), t`View`, '/token'),
    ...(!token.portal
      ? [
          {
            name: t`API reference`,
            what: t`New tab`,
            go: () => void window.open(referencePath, '_blank', 'noopener'),
          },
        ]
      : []),
    ...themes.map(({ key, label }) => ({
      name: t`Colors: ${label}`,
      what: t`Action`,
      go: () => theme.set(key),
    })),
    ...webhooks.map((webhook) => ({
      ...to(webhookName(webhook), t`Webhook ${webhook.id.slice(-5)}`, `/webhooks/${webhook.id}`),
      ...(webhook.description && { detail: webhook.url }),
    })),
    ...types.map(({ type }) => to(type, t`Event type`, '/event-types', { type })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = all.filter(({ name, detail = '' }) =>
    words.every((word) => `${name} ${detail}`.toLowerCase().includes(word)),
  );
  return [...identified, ...matching].slice(0, shownMax);
}

/** What an ID of a kind opens, for whom. `*` is every kind that is not Posthorn's own. */
function targetsOfId(id: string, token: Token, to: LinkTo): Target[] {
  const may = permissionOf(token.scopes);
  const path = encodeURIComponent(id);
  const kind = id.slice(0, id.indexOf('-'));
  const other = /^(EVT|WDLV|TOK|RPL|AUD|WS)$/.test(kind) ? kind : '*';
  const targets: [kinds: string, isPossible: boolean, what: string, to: string, search?: Search][] = [
    ['EVT', may.readEvents, t`Open the event`, `/events/${path}`],
    ['WHK', may.readWebhooks, t`Open the webhook`, `/webhooks/${path}`],
    ['WDLV', may.readWebhooks, t`Open the delivery`, `/deliveries/${path}`],
    ['TOK', id === token.id, tokenViewName(token), '/token'],
    ['TOK', may.readAudit, t`What this actor did`, '/audit', { actor_id: id }],
    ['TOK', may.readAudit, t`What happened to this token`, '/audit', { target_id: id }],
    // Only the audit log tells which webhook a replay belongs to.
    ['RPL', may.readAudit, t`All replays in the audit log`, '/audit', { action: 'webhook.replayed' }],
    ['WS', may.readEvents, t`Events of this workspace`, '/events', { workspace_id: id }],
    ['*', may.readEvents, t`Its history`, '/events', { subject_id: id }],
    ['USR AGT', may.readEvents, t`What this actor did`, '/events', { actor_id: id }],
  ];
  return targets
    .filter(
      ([kinds, isPossible]) => isPossible && [kind, other].some((one) => kinds.split(' ').includes(one)),
    )
    .map(([, , what, path, search]) => to(id, what, path, search));
}
