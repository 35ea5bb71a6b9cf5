import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useMatchRoute, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { problemIn } from '../api/problem';
import { hostOf, webhookName } from '../api/webhook-name';
import { showChanged } from '../api/webhooks';
import { Button } from '../parts/button';
import { Confirm, useConfirm } from '../parts/confirm';
import { Facts } from '../parts/facts';
import { Form } from '../parts/form';
import { ProblemNote } from '../parts/states';
import { showToast } from '../parts/toast';
import { SecretBox } from '../receiver/receiver-code';
import { RotateButton } from '../receiver/rotate-button';
import { useUnresolvedRotation } from '../receiver/secrets';
import { keptInput } from '../session/kept-input';
import { usePermission, useToken } from '../session/token';
import { rich, t } from '../text/language';
import { ExactTime } from '../text/time';
import { BodyWords, FilterWords } from '../webhook-editors/editor-rows';
import { Unsaved } from '../webhook-form/unsaved';
import { scheduleText, useWaitsMs } from '../webhook-form/waits';
import {
  changesOf,
  draftOf,
  isSameDraft,
  rebasedDraft,
  reopened,
  type WebhookDraft,
} from '../webhook-form/webhook-fields';
import { isShownInForm, WebhookForm } from '../webhook-form/webhook-form';

export function WebhookSettings({ webhook }: { webhook: Webhook }) {
  const may = usePermission();
  const rotation = useUnresolvedRotation(webhook.id);
  return (
    <>
      {may.send ? <ChangeForm key={webhook.id} webhook={webhook} /> : <ReadOnly webhook={webhook} />}
      {may.write && (
        <section className="danger-zone" aria-label={t`Secret and deletion`}>
          <div>
            <div>
              <b>{t`Signing secret`}</b>
              <p className="soft small">
                {rotation
                  ? t`The outcome of the rotation is unknown. The new secret may already be in effect. To be sure, rotate again: the same new secret is used.`
                  : t`Generate a new one. The old one can stay valid for a while.`}
              </p>
            </div>
            <RotateButton webhook={webhook} />
            {rotation && <SecretBox secret={rotation.secret} />}
          </div>
          <div>
            <div>
              <b>{t`Delete`}</b>
              <p className="soft small">{t`Cancels waiting deliveries and sends nothing more. This cannot be undone.`}</p>
            </div>
            <DeleteButton webhook={webhook} />
          </div>
        </section>
      )}
    </>
  );
}

function ChangeForm({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const [base, setBase] = useState(webhook);
  const token = useToken();
  const form = `webhook ${webhook.id}`;
  const [draft, setDraft] = useState(() => {
    const kept = keptInput<{ draft: WebhookDraft; before: WebhookDraft }>(form, token);
    return kept ? rebasedDraft(reopened(kept.draft), kept.before, webhook) : draftOf(webhook);
  });
  if (!isSameDraft(draftOf(webhook), draftOf(base))) {
    setBase(webhook);
    setDraft(rebasedDraft(draft, draftOf(base), webhook));
  }
  const changes = changesOf(draft, webhook);
  const hasChanges = Object.keys(changes).length > 0;
  const save = useAction({
    mutationFn: (submitted: WebhookDraft) =>
      posthorn.webhooks.change(webhook.id, changesOf(submitted, webhook)),
    onSuccess: (changed, submitted) => {
      showChanged(client, changed);
      // A verification takes seconds, and the user can keep typing meanwhile.
      setDraft((current) => rebasedDraft(current, submitted, changed));
      showToast(
        changed.status === 'unverified' ? 'Saved, but not verified. See the reason on this page.' : 'Saved.',
      );
    },
  });
  const problem = problemIn(save.error);
  const needsValues = draft.headers.some(({ isStored, value }) => isStored && value === '');
  const sendsElsewhere = needsValues && changes.url !== undefined && isElsewhere(changes.url, webhook.url);
  const verifies = changes.url !== undefined && webhook.status !== 'disabled';
  return (
    <>
      <Unsaved
        form={form}
        values={{ draft, before: draftOf(webhook) }}
        isChanged={hasChanges}
      >{t`Your changes to this webhook have not been saved.`}</Unsaved>
      <Form className="form" onSubmit={() => save.mutate(draft)}>
        <WebhookForm draft={draft} onChange={setDraft} problem={problem} canChooseWorkspace={false} />
        {sendsElsewhere && (
          <p className="soft small">{t`Stored header values are never sent to another host: whoever can change the URL could read them there. Enter the values of all headers again, or remove the headers.`}</p>
        )}
        {verifies && (
          <p className="soft small">{t`The new URL is verified first. Until the result is known, events go to the old one.`}</p>
        )}
        {/* Without changes, there is nothing to save: the service has them, or the user discarded them. */}
        {save.error && hasChanges && !isShownInForm(problem) && <ProblemNote error={save.error} isAction />}
        <div className="actions">
          <Button
            type="submit"
            kind="primary"
            disabled={save.isPending || !hasChanges || draft.event_types.length === 0}
          >
            {save.isPending ? (verifies ? t`Verifying…` : t`Saving…`) : t`Save`}
          </Button>
          {hasChanges && (
            <Button
              onClick={() => {
                save.reset();
                setDraft(draftOf(webhook));
              }}
            >{t`Discard`}</Button>
          )}
        </div>
      </Form>
    </>
  );
}

/** Returns whether a URL has another scheme, host or port. */
function isElsewhere(url: string, before: string): boolean {
  return URL.canParse(url) && new URL(url).origin !== new URL(before).origin;
}

function ReadOnly({ webhook }: { webhook: Webhook }) {
  const headers = Object.keys(webhook.headers ?? {});
  const waitsMs = useWaitsMs(webhook.retry_schedule);
  return (
    <Facts
      of={[
        { name: t`URL`, is: <code>{webhook.url}</code> },
        { name: t`Name`, is: webhook.description ?? t`none` },
        { name: t`Event types`, is: <code>{webhook.event_types.join(', ')}</code> },
        {
          name: t`Filter`,
          is: webhook.filter ? <FilterWords text={JSON.stringify(webhook.filter)} /> : t`none`,
        },
        {
          name: t`Body`,
          is: <BodyWords format={webhook.format} template={JSON.stringify(webhook.template)} />,
        },
        { name: t`Workspace`, is: webhook.workspace_id ?? t`whole organization` },
        { name: t`Headers`, is: headers.length > 0 ? <code>{headers.join(', ')}</code> : t`none` },
        { name: t`Rate limit`, is: webhook.rate_limit ? t`${webhook.rate_limit} per second` : t`none` },
        { name: t`Attempts`, is: scheduleText(waitsMs) },
        { name: t`Deleted`, is: webhook.expires_at ? <ExactTime at={webhook.expires_at} /> : t`never` },
        { name: t`Created`, is: <ExactTime at={webhook.created_at} /> },
      ]}
    />
  );
}

/** Deletes the webhook after the user has typed its name. */
function DeleteButton({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const isShown = useMatchRoute();
  const name = webhookName(webhook);
  const remove = useAction({
    mutationFn: () =>
      posthorn.webhooks.delete(webhook.id).catch((error) => {
        // If it is not found, it is deleted, whoever did that.
        if (problemIn(error)?.code !== 'not_found') throw error;
      }),
    onSuccess: async () => {
      showToast(t`Deleted ${name}.`);
      // The user may have gone on to another view. The other tabs of the webhook have nothing to show any more.
      if (isShown({ to: '/webhooks/$webhookId', params: { webhookId: webhook.id } }))
        await navigate({ to: '/webhooks', ignoreBlocker: true });
      client.removeQueries({ queryKey: ['webhooks', 'one', webhook.id] });
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
    },
  });
  const confirm = useConfirm(remove);
  return (
    <>
      <Button kind="danger" onClick={confirm.ask}>{t`Delete…`}</Button>
      <Confirm
        {...confirm.dialog}
        title={t`Delete ${name}?`}
        action={remove.isPending ? t`Deleting…` : t`Delete`}
        isDanger
        name={webhook.description?.trim() || hostOf(webhook.url)}
        onConfirm={() => remove.mutate()}
      >
        <p>{rich`Nothing more is sent to ${<code>{webhook.url}</code>}. Waiting deliveries are canceled, and the webhook's deliveries are no longer listed. This cannot be undone.`}</p>
      </Confirm>
    </>
  );
}
