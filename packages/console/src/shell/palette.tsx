import { Dialog } from '@base-ui/react/dialog';
import type { EventType, Token, Webhook } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useMemo, useState } from 'react';
import { eventTypesQuery } from '../api/events';
import { webhooksQuery } from '../api/webhooks';
import { theme } from '../browser/preferences';
import { useStore } from '../browser/store';
import { permissionOf } from '../session/token';
import { webhookName } from '../views/webhooks/webhook-tag';
import { overlay, paletteText } from './overlay-store';
import { consoleAddressIn, isShortFor, loadedIds, unquoted, wholeIdIn } from './pasted';
import { mayOpenReference, referencePath, tokenViewName, viewsOf } from './views';

interface Target {
  name: string;
  /** More text about it, which is also searched. */
  detail?: string;
  what: string;
  go: () => void;
}

type Navigate = ReturnType<typeof useNavigate>;

const shownMax = 12;

/** Opens any view, webhook, event type or identifier. */
export function Palette({ token }: { token: Token }) {
  const may = permissionOf(token.scopes);
  const navigate = useNavigate();
  const { data: webhooks } = useQuery({ ...webhooksQuery, enabled: may.readWebhooks });
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: may.readEvents });
  const { history } = useRouter();
  const text = useStore(paletteText);
  const [at, setAt] = useState(0);
  const listId = useId();
  const client = useQueryClient();
  // Read once: the views behind the palette must not change its results.
  const [ids] = useState(() => loadedIds(client));
  const found = useMemo(() => {
    const plain = unquoted(text);
    const address = consoleAddressIn(plain);
    if (address)
      return [{ name: address, what: 'Open this address', go: () => history.push(address) } satisfies Target];
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
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && overlay.set(undefined)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog palette" aria-label="Go anywhere">
          <input
            ref={focus}
            role="combobox"
            aria-label="Go to"
            aria-expanded="true"
            aria-controls={listId}
            aria-activedescendant={chosen ? `${listId}-${found.indexOf(chosen)}` : undefined}
            placeholder="View, webhook, event type, ID or end of an ID"
            value={text}
            onChange={(event) => {
              paletteText.set(event.target.value);
              setAt(0);
            }}
            onKeyDown={onKey}
          />
          <div className="results" id={listId} role="listbox" aria-label="Results" tabIndex={-1}>
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
          {found.length === 0 && (
            <p className="soft" role="status">
              Nothing matches.
            </p>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Moves the focus as soon as the field exists. The dialog does so later, and keys pressed until then would be lost. */
function focus(field: HTMLInputElement | null): void {
  field?.focus();
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
  const whole = wholeIdIn(text);
  const short = ids.filter((id) => id !== whole && isShortFor(text, id));
  const identified = [...(whole ? [whole] : []), ...short].flatMap((id) => targetsOfId(id, token, navigate));
  const all: Target[] = [
    ...viewsOf(token).map(({ name, to, key }) => ({
      name,
      what: `g ${key}`,
      go: () => void navigate({ to }),
    })),
    ...(may.send
      ? [{ name: 'New webhook', what: 'Action', go: () => void navigate({ to: '/webhooks/new' }) }]
      : []),
    { name: tokenViewName(token), what: 'View', go: () => void navigate({ to: '/token' }) },
    ...(mayOpenReference(token)
      ? [
          {
            name: 'API reference',
            what: 'New tab',
            go: () => void window.open(referencePath, '_blank', 'noopener'),
          },
        ]
      : []),
    ...(['system', 'light', 'dark'] as const).map((choice) => ({
      name: `Colors: ${choice}`,
      what: 'Action',
      go: () => theme.set(choice),
    })),
    ...webhooks.map((webhook) => ({
      name: webhookName(webhook),
      ...(webhook.description && { detail: webhook.url }),
      what: `Webhook ${webhook.id.slice(-5)}`,
      go: () => void navigate({ to: '/webhooks/$webhookId', params: { webhookId: webhook.id } }),
    })),
    ...types.map(({ type }) => ({
      name: type,
      what: 'Event type',
      go: () => void navigate({ to: '/event-types', search: { type } }),
    })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = all.filter(({ name, detail = '' }) =>
    words.every((word) => `${name} ${detail}`.toLowerCase().includes(word)),
  );
  return [...identified, ...matching].slice(0, shownMax);
}

function targetsOfId(id: string, token: Token, navigate: Navigate): Target[] {
  const may = permissionOf(token.scopes);
  const targets: Target[] = [];
  if (id.startsWith('EVT-') && may.readEvents) {
    targets.push({
      name: id,
      what: 'Open the event',
      go: () => void navigate({ to: '/events/$eventId', params: { eventId: id } }),
    });
  }
  if (id.startsWith('WHK-') && may.readWebhooks) {
    targets.push({
      name: id,
      what: 'Open the webhook',
      go: () => void navigate({ to: '/webhooks/$webhookId', params: { webhookId: id } }),
    });
  }
  if (id.startsWith('WDLV-') && may.readWebhooks) {
    targets.push({
      name: id,
      what: 'Open the delivery',
      go: () => void navigate({ to: '/deliveries/$deliveryId', params: { deliveryId: id } }),
    });
  }
  if (id.startsWith('TOK-')) {
    if (id === token.id)
      targets.push({ name: id, what: tokenViewName(token), go: () => void navigate({ to: '/token' }) });
    if (may.readAudit) {
      targets.push(
        {
          name: id,
          what: 'What this actor did',
          go: () => void navigate({ to: '/audit', search: { actor_id: id } }),
        },
        {
          name: id,
          what: 'What happened to this token',
          go: () => void navigate({ to: '/audit', search: { target_id: id } }),
        },
      );
    }
  }
  // Only the audit log tells which webhook a replay belongs to.
  if (id.startsWith('RPL-') && may.readAudit) {
    targets.push({
      name: id,
      what: 'All replays in the audit log',
      go: () => void navigate({ to: '/audit', search: { action: 'webhook.replayed' } }),
    });
  }
  if (/^(EVT|WDLV|TOK|RPL|AUD)-/.test(id)) return targets;
  if (may.readEvents) {
    const search = id.startsWith('WS-') ? { workspace_id: id } : { subject_id: id };
    targets.push({
      name: id,
      what: id.startsWith('WS-') ? 'Events of this workspace' : 'Its history',
      go: () => void navigate({ to: '/events', search }),
    });
    if (/^(USR|AGT)-/.test(id)) {
      targets.push({
        name: id,
        what: 'What this actor did',
        go: () => void navigate({ to: '/events', search: { actor_id: id } }),
      });
    }
  }
  return targets;
}
