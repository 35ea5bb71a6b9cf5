import type { CreatedWebhook } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useAction, useRequestKey } from '../api/action';
import { posthorn } from '../api/client';
import { eventTypesQuery } from '../api/events';
import { isOutcomeUnknown, isUnreachable, problemIn } from '../api/problem';
import { productName, useSettings } from '../api/settings';
import { JsonBlock } from '../code/json-text';
import { Button } from '../parts/button';
import { Check, Form } from '../parts/form';
import { Breadcrumb } from '../parts/head';
import { Note } from '../parts/note';
import { ProblemNote } from '../parts/states';
import { ReceiverCode, SecretBox } from '../receiver/receiver-code';
import { freshSecrets } from '../receiver/secrets';
import { keptInput } from '../session/kept-input';
import { useToken } from '../session/token';
import { newSecret } from '../text/identifier';
import { rich, t } from '../text/language';
import { parsed } from '../webhook-editors/filter-rules';
import { type Format, formats } from '../webhook-editors/formats';
import { sampleEvent, usePreview } from '../webhook-editors/preview';
import { Unsaved } from './unsaved';
import { draftOf, fieldsOf, isSameDraft, reopened, type WebhookDraft } from './webhook-fields';
import { isShownInForm, Step, WebhookForm } from './webhook-form';

const formName = 'webhook';

/** A new webhook: the form on the left, the receiver's code with the secret filled in on the right. */
export function NewWebhook() {
  const token = useToken();
  const name = productName(useSettings());
  const client = useQueryClient();
  const { event_type: wanted } = useSearch({ from: '/webhooks/new' });
  const navigate = useNavigate();
  const [opened] = useState<WebhookDraft>(draftOf({ event_types: wanted ? [wanted] : [] }));
  const [kept] = useState(() => keptInput<{ draft: WebhookDraft; secret: string }>(formName, token));
  const [draft, setDraft] = useState(() => (kept ? reopened(kept.draft) : opened));
  // The receiver may already have the kept secret.
  const [secret] = useState(() => kept?.secret ?? newSecret());
  const [sampled, setSampled] = useState(wanted);
  const keyOf = useRequestKey();
  const [unsure, setUnsure] = useState<WebhookDraft | undefined>();

  function send(submitted: WebhookDraft): Promise<CreatedWebhook> {
    const workspace = submitted.workspace_id.trim();
    const body = {
      organization_id: token.organization_id,
      ...(workspace && { workspace_id: workspace }),
      ...fieldsOf(submitted),
      secret,
      ...(submitted.isDisabled && { status: 'disabled' as const }),
    };
    return posthorn.webhooks.create(body, { idempotencyKey: keyOf(body) });
  }

  const create = useAction({
    mutationFn: send,
    onError: (error, submitted) => {
      if (isOutcomeUnknown(error)) setUnsure(submitted);
    },
    onSuccess: (created) => {
      freshSecrets.set(created.id, secret);
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
    },
  });
  const open = ({ id }: CreatedWebhook) =>
    void navigate({
      to: '/webhooks/$webhookId',
      params: { webhookId: id },
      search: { tab: 'receiver' },
      ignoreBlocker: true,
    });
  const mayExist = unsure !== undefined || create.isPending;
  const problem = problemIn(create.error);
  const missing = missingFrom(draft);
  return (
    <>
      <Breadcrumb>
        <Link to="/webhooks">{t`Webhooks`}</Link>
      </Breadcrumb>
      <h1>{t`New webhook`}</h1>
      <div className="form-and-side">
        <Unsaved form={formName} values={{ draft, secret }} isChanged={!isSameDraft(draft, opened)}>
          {mayExist
            ? t`The webhook may have been created already. What you entered will be lost, and the secret is not shown again.`
            : t`The webhook has not been created, and what you entered will be lost.`}
        </Unsaved>
        <Form className="form steps" onSubmit={() => create.mutate(draft, { onSuccess: open })}>
          <Step title={t`A receiver that verifies`}>
            <p className="soft">
              <span className="wide">{t`The code beside this form verifies each request with this secret.`}</span>
              <span className="narrow">{t`The code below this form verifies each request with this secret.`}</span>
              {!token.portal && (
                <>
                  {' '}
                  {rich`No receiver yet? ${<code>node posthorn.mjs listen --print</code>} shows every event on your machine, without a webhook.`}
                </>
              )}
            </p>
            <div className="field">
              <span className="label">{t`Signing secret`}</span>
              <SecretBox secret={secret} />
              <span className="hint">{t`Give it to your receiver now. After you reload or close the console, it is not shown again.`}</span>
            </div>
          </Step>
          <WebhookForm
            isNumbered
            draft={draft}
            onChange={setDraft}
            problem={problem}
            canChooseWorkspace={token.workspace_id === null}
            onShowSample={setSampled}
          />
          <Step title={t`Verify`}>
            <p className="soft">
              {t`${name} sends a signed request to the URL. The webhook becomes active when your receiver responds with exactly 200 within 5 seconds.`}
            </p>
            <Check checked={draft.isDisabled} onChange={(isDisabled) => setDraft({ ...draft, isDisabled })}>
              {t`Create it disabled`}
              <span className="hint">{t`Nothing is sent until you activate it, so your receiver can be set up first.`}</span>
            </Check>
            {create.error && !isUnreachable(create.error) && !isShownInForm(problem) && (
              <ProblemNote error={create.error} isAction />
            )}
            {unsure && !create.isPending && <MayExist isSame={isSameDraft(draft, unsure)} />}
            <div className="actions">
              <Button type="submit" kind="primary" disabled={create.isPending || missing !== undefined}>
                {draft.isDisabled
                  ? create.isPending
                    ? t`Creating…`
                    : t`Create disabled`
                  : create.isPending
                    ? t`Verifying the receiver…`
                    : t`Create and verify`}
              </Button>
              <Link to="/webhooks" className="btn" ignoreBlocker={!mayExist}>{t`Cancel`}</Link>
              {missing && <span className="soft small">{missing}</span>}
            </div>
          </Step>
        </Form>
        <div className="stack">
          <ReceiverCode url={draft.url.trim()} secret={secret} />
          {sampled && <Sample type={sampled} draft={draft} />}
        </div>
      </div>
    </>
  );
}

/** Says that there may be a webhook already, because the response to an earlier request was lost. */
function MayExist({ isSame }: { isSame: boolean }) {
  return (
    <Note
      kind="warn"
      role="alert"
      title={t`The webhook may have been created already`}
      actions={<Link to="/webhooks" className="btn slim">{t`See all webhooks`}</Link>}
    >
      <p>
        {t`The outcome of the request is unknown.`}{' '}
        {isSame
          ? t`You can safely press the button again: there will be only one webhook.`
          : t`You have changed the form since then, so the button creates another webhook, and both may receive events.`}
      </p>
    </Note>
  );
}

/** Says what a webhook still needs before it can be created. */
function missingFrom({ url, event_types: types }: WebhookDraft): string | undefined {
  if (url.trim() === '') return types.length === 0 ? t`Enter a URL and choose event types.` : t`Enter a URL.`;
  return types.length === 0 ? t`Choose at least one event type.` : undefined;
}

type SampleProps = { type: string; draft: WebhookDraft };

/** The body of a request for a type's sample. */
function Sample({ type, draft }: SampleProps) {
  const token = useToken();
  const { data } = useQuery(eventTypesQuery);
  const found = data?.find((one) => one.type === type);
  if (!found) return null;
  const event = sampleEvent(found, token.organization_id);
  const { payload, ...thin } = event;
  const { id, created_at, organization_id, workspace_id } = event;
  const envelope = { id, type, created_at, organization_id, workspace_id, data: payload };
  const body = { envelope, event, thin }[draft.format as string];
  if (!body) return <NewestBody key={`${type} ${draft.format}`} type={type} draft={draft} />;
  return <RequestBody type={type} format={draft.format} text={JSON.stringify(body)} />;
}

/** The body of a request for the newest event of a type: only the service knows how it looks in the other formats. */
function NewestBody({ type, draft: { format, template } }: SampleProps) {
  const { data, error } = usePreview({
    event_types: [type],
    from: '2000-01-01',
    format,
    template: (parsed(template) ?? null) as Record<string, unknown> | null,
  });
  if (!data || error) return null;
  const body = data.events[0]?.body;
  if (body === undefined)
    return (
      <p className="soft">{t`There is no event that this webhook would get, so there is no body yet.`}</p>
    );
  return <RequestBody type={type} format={format} text={body} />;
}

function RequestBody({ type, format, text }: { type: string; format: Format; text: string }) {
  return (
    <JsonBlock title={t`Request body (${formats[format].name}) · ${type}`} text={text} what={t`the body`} />
  );
}
