import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { hostOf, webhookName } from '../api/webhook-name';
import { type JudgedWebhook, shownStatusOf } from '../api/webhook-verdict';
import { DeliveryLink, WebhookLink } from '../parts/links';
import { ProblemNote } from '../parts/states';
import { usePermission } from '../session/token';
import { plural, rich, t } from '../text/language';
import { ClockTime, TimeAgo, WithTimes } from '../text/time';
import {
  ChangeUrl,
  redirectTarget,
  useLatestFailure,
  useVerification,
  VerifyButton,
} from '../webhooks/remedies';
import { Dotted, Severity } from '../webhooks/severity';
import { WebhookTag } from '../webhooks/webhook-tag';

const shownMax = 5;

/** One sentence for each problem, with one action. */
export function Problems({ webhooks }: { webhooks: JudgedWebhook[] }) {
  if (webhooks.length === 0) return null;
  return (
    <ul className="problems">
      {webhooks.slice(0, shownMax).map((webhook) => {
        const condition = shownStatusOf(webhook);
        if (condition === 'failing') return <FailingProblem key={webhook.id} webhook={webhook} />;
        if (condition === 'unverified') return <UnverifiedProblem key={webhook.id} webhook={webhook} />;
        return (
          <Problem
            key={webhook.id}
            webhook={webhook}
            says={` ${disabledBecause[webhook.disabled_reason ?? 'manual']}`}
            remedy={t`It receives no events. Fix the receiver, activate the webhook, then replay the events that it missed.`}
          />
        );
      })}
      {webhooks.length > shownMax && (
        <li className="problem">
          <span />
          <Link to="/webhooks" search={{ show: 'attention' }} className="link">
            {plural(
              webhooks.length - shownMax,
              '{0} more webhook needs attention',
              '{0} more webhooks need attention',
            )}
          </Link>
        </li>
      )}
    </ul>
  );
}

function Problem({
  webhook,
  says,
  severity,
  remedy,
  action,
  error,
}: {
  webhook: JudgedWebhook;
  says: ReactNode;
  severity?: ReactNode;
  /** What to do about it. On a narrow screen, the page behind the row says so. */
  remedy: ReactNode;
  /** Undefined if there is nothing to do but open the webhook. */
  action?: ReactNode;
  /** Why the action failed. */
  error?: Error | null;
}) {
  return (
    <li className="problem">
      <WebhookTag webhook={webhook} />
      <div>
        <div className="cause">
          <WebhookLink id={webhook.id} className="strong">
            {webhookName(webhook)}
          </WebhookLink>
          {says}
        </div>
        <p className="small">
          <Dotted>
            {severity}
            {webhook.description && <code title={webhook.url}>{hostOf(webhook.url)}</code>}
          </Dotted>
        </p>
        <p className="small wide">{remedy}</p>
        {error && <ProblemNote error={error} isAction />}
      </div>
      {action ?? <WebhookLink id={webhook.id} className="btn">{t`Open`}</WebhookLink>}
    </li>
  );
}

function FailingProblem({ webhook }: { webhook: JudgedWebhook }) {
  const may = usePermission();
  const { delivery } = useLatestFailure(webhook);
  const attempt = delivery?.attempt_log.at(-1);
  const target = delivery && redirectTarget(delivery, webhook);
  return (
    <Problem
      webhook={webhook}
      says={
        <WithTimes
          text={
            attempt?.error_detail
              ? `: ${attempt.error_detail}`
              : `: ${t`The receiver did not accept the latest delivery.`}`
          }
        />
      }
      severity={<Severity webhook={webhook} />}
      remedy={<WithTimes text={attempt?.remedy ?? '\u00a0'} />}
      action={
        target && may.send ? (
          <ChangeUrl webhook={webhook} url={target} />
        ) : delivery ? (
          <DeliveryLink className="btn" of={delivery}>{t`See why`}</DeliveryLink>
        ) : undefined
      }
    />
  );
}

function UnverifiedProblem({ webhook }: { webhook: JudgedWebhook }) {
  const may = usePermission();
  const verify = useVerification(webhook);
  const failure = webhook.verification_failure;
  return (
    <Problem
      webhook={webhook}
      error={verify.error}
      says={
        <WithTimes text={` ${t`receives nothing: it is not verified.`} ${failure?.error_detail ?? ''}`} />
      }
      severity={failure && <span>{rich`Last tried ${<TimeAgo at={failure.at} />}`}</span>}
      remedy={failure && <WithTimes text={failure.remedy} />}
      action={may.send ? <VerifyButton verify={verify} /> : undefined}
    />
  );
}

const disabledBecause = {
  gone: t`was disabled: its receiver responded with 410 Gone.`,
  failing: t`was disabled: every attempt failed for 5 days.`,
  manual: t`is disabled.`,
};

/** The webhooks whose receivers asked to wait. There is nothing to do about them, so they are not among the problems. */
export function Waiting({ webhooks }: { webhooks: JudgedWebhook[] }) {
  const waiting = webhooks.filter((webhook) => shownStatusOf(webhook) === 'waiting');
  if (waiting.length === 0) return null;
  return (
    <p className="lead">
      {plural(
        waiting.length,
        'Waiting, because its receiver asked for it:',
        'Waiting, because their receivers asked for it:',
      )}{' '}
      {waiting.map((webhook, index) => (
        <Fragment key={webhook.id}>
          {index > 0 && ', '}
          {rich`${(
            <WebhookLink id={webhook.id} className="link">
              {webhookName(webhook)}
            </WebhookLink>
          )} until ${<ClockTime at={webhook.waitsUntil ?? ''} />}`}
        </Fragment>
      ))}
      .
    </p>
  );
}
