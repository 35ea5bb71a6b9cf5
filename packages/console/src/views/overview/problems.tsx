import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import type { JudgedWebhook } from '../../api/webhooks';
import { ProblemNote } from '../../parts/problem-note';
import { usePermission } from '../../session/token';
import { plural } from '../../text/format';
import { WithTimes } from '../../text/marked-text';
import { ClockTime, Countdown, TimeAgo } from '../../text/time';
import { ChangeUrl, redirectTarget } from '../webhooks/change-url';
import { useLatestFailure } from '../webhooks/latest-failure';
import { useVerification, VerifyButton } from '../webhooks/verify-button';
import { byUrgency, shownStatusOf, WebhookTag, webhookName } from '../webhooks/webhook-tag';
import { Severity } from './severity';

const shownMax = 5;

/** One sentence for each problem, with one action. */
export function Problems({ webhooks }: { webhooks: JudgedWebhook[] }) {
  if (webhooks.length === 0) return null;
  const sorted = webhooks.toSorted(byUrgency);
  return (
    <ul className="problems">
      {sorted.slice(0, shownMax).map((webhook) => {
        const condition = shownStatusOf(webhook);
        if (condition === 'failing') return <FailingProblem key={webhook.id} webhook={webhook} />;
        if (condition === 'unverified') return <UnverifiedProblem key={webhook.id} webhook={webhook} />;
        return <DisabledProblem key={webhook.id} webhook={webhook} />;
      })}
      {sorted.length > shownMax && (
        <li className="problem">
          <span />
          <Link to="/webhooks" search={{ show: 'attention' }} className="link">
            {plural(sorted.length - shownMax, 'more webhook needs', 'more webhooks need')} attention
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
  then,
  action,
  error,
}: {
  webhook: JudgedWebhook;
  says: ReactNode;
  severity?: ReactNode;
  then: ReactNode;
  action: ReactNode;
  /** Why the action failed. */
  error?: Error | null;
}) {
  return (
    <li className="problem">
      <WebhookTag webhook={webhook} />
      <div>
        <Link to="/webhooks/$webhookId" params={{ webhookId: webhook.id }} className="strong">
          {webhookName(webhook)}
        </Link>
        {says}
        {severity && <p>{severity}</p>}
        <p>{then}</p>
        {error && <ProblemNote error={error} isAction />}
      </div>
      {action}
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
              : ': The receiver did not accept the latest delivery.'
          }
        />
      }
      severity={<Severity webhook={webhook} />}
      then={
        <>
          <WithTimes text={attempt?.remedy ?? '\u00a0'} />{' '}
          {delivery?.next_attempt_at && (
            <>
              Next attempt <Countdown to={delivery.next_attempt_at} />.
            </>
          )}{' '}
          {webhook.description && <code>{webhook.url}</code>}
        </>
      }
      action={
        target && may.send ? (
          <ChangeUrl webhook={webhook} url={target} />
        ) : delivery ? (
          <Link
            className="btn"
            to="/webhooks/$webhookId/deliveries/$deliveryId"
            params={{ webhookId: webhook.id, deliveryId: delivery.id }}
          >
            See why
          </Link>
        ) : (
          <Link className="btn" to="/webhooks/$webhookId" params={{ webhookId: webhook.id }}>
            Open
          </Link>
        )
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
      says={<WithTimes text={` receives nothing: it is not verified. ${failure?.error_detail ?? ''}`} />}
      then={
        <>
          {failure && <WithTimes text={failure.remedy} />}{' '}
          {failure && (
            <>
              Last tried <TimeAgo at={failure.at} />.
            </>
          )}{' '}
          {webhook.description && <code>{webhook.url}</code>}
        </>
      }
      action={
        may.send ? (
          <VerifyButton verify={verify} />
        ) : (
          <Link className="btn" to="/webhooks/$webhookId" params={{ webhookId: webhook.id }}>
            Open
          </Link>
        )
      }
    />
  );
}

const disabledBecause = {
  gone: 'was disabled: its receiver responded with 410 Gone.',
  failing: 'was disabled: every attempt failed for 5 days.',
  manual: 'is disabled.',
};

function DisabledProblem({ webhook }: { webhook: JudgedWebhook }) {
  return (
    <Problem
      webhook={webhook}
      says={` ${disabledBecause[webhook.disabled_reason ?? 'manual']}`}
      then={
        <>
          It receives no events. Fix the receiver, activate the webhook, then replay the events that it
          missed. {webhook.description && <code>{webhook.url}</code>}
        </>
      }
      action={
        <Link className="btn" to="/webhooks/$webhookId" params={{ webhookId: webhook.id }}>
          Open
        </Link>
      }
    />
  );
}

const waitingMax = 3;

/** The webhooks whose receivers asked to wait. There is nothing to do about them, so they are not among the problems. */
export function Waiting({ webhooks }: { webhooks: JudgedWebhook[] }) {
  const waiting = webhooks.filter((webhook) => shownStatusOf(webhook) === 'waiting');
  if (waiting.length === 0) return null;
  const shown = waiting.slice(0, waitingMax);
  const rest = waiting.length - shown.length;
  return (
    <p className="lead">
      {`Waiting, because ${waiting.length === 1 ? 'its receiver' : 'their receivers'} asked for it: `}
      {shown.map((webhook, index) => (
        <Fragment key={webhook.id}>
          {index > 0 && ', '}
          <Link to="/webhooks/$webhookId" params={{ webhookId: webhook.id }} className="link">
            {webhookName(webhook)}
          </Link>{' '}
          until <ClockTime at={webhook.waitsUntil ?? ''} />
        </Fragment>
      ))}
      {rest > 0 && (
        <>
          {' '}
          and{' '}
          <Link to="/webhooks" className="link">
            {plural(rest, 'other')}
          </Link>
        </>
      )}
      .
    </p>
  );
}
