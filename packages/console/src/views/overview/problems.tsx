import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { latestFailureQuery } from '../../api/deliveries';
import { plural } from '../../format';
import { useLive } from '../../live';
import { ProblemNote } from '../../parts/problem-note';
import { Countdown, TimeAgo } from '../../parts/time';
import { shownStatusOf, WebhookTag, webhookName } from '../../parts/webhook-tag';
import { WithTimes } from '../../parts/with-times';
import { usePermission } from '../../permission';
import { useVerification, VerifyButton } from '../webhooks/verify-button';

const shownMax = 5;
const order = ['failing', 'disabled', 'unverified'];

/** One sentence for each problem, with one action. */
export function Problems({ webhooks }: { webhooks: Webhook[] }) {
  if (webhooks.length === 0) return null;
  const sorted = webhooks.toSorted(
    (a, b) => order.indexOf(shownStatusOf(a)) - order.indexOf(shownStatusOf(b)),
  );
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
  then,
  action,
  error,
}: {
  webhook: Webhook;
  says: ReactNode;
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
        <p>{then}</p>
        {error && <ProblemNote error={error} isAction />}
      </div>
      {action}
    </li>
  );
}

function FailingProblem({ webhook }: { webhook: Webhook }) {
  const { refetchInterval } = useLive();
  const { data } = useQuery({ ...latestFailureQuery(webhook.id), refetchInterval });
  const attempt = data?.attempt_log.at(-1);
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
      then={
        <>
          <WithTimes text={attempt?.remedy ?? '\u00a0'} />{' '}
          {data?.next_attempt_at && (
            <>
              Next attempt <Countdown to={data.next_attempt_at} />.
            </>
          )}{' '}
          {webhook.description && <code>{webhook.url}</code>}
        </>
      }
      action={
        data ? (
          <Link
            className="btn"
            to="/webhooks/$webhookId/deliveries/$deliveryId"
            params={{ webhookId: webhook.id, deliveryId: data.id }}
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

function UnverifiedProblem({ webhook }: { webhook: Webhook }) {
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

function DisabledProblem({ webhook }: { webhook: Webhook }) {
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
