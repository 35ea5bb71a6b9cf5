import type { Logger } from 'pino';
import { Replays } from './deliveries/replays.js';
import { DeliveryEngine } from './engine/engine.js';
import { limits } from './engine/limits.js';
import { WebhookChanges } from './engine/webhook-changes.js';
import type { LeasedDelivery } from './events/recording-store.js';
import { watchConnections, watchEngine } from './operations/gauges.js';
import type { Metrics } from './operations/metrics.js';
import type { Outcome } from './outcomes/outcome.js';
import type { Verdict } from './outcomes/retry-schedule.js';
import { Database, type DatabaseTarget } from './postgres/database.js';
import type { Reachability } from './postgres/reachability.js';
import type { AttemptTracer, Sender } from './sending/attempt.js';
import { Transport } from './sending/transport.js';
import { type Config, version } from './settings/config.js';
import { openSecretBox } from './settings/keys.js';
import type { Notifier } from './signals/notifier.js';
import { Repeating } from './signals/timers.js';
import { DeliveryTally } from './stats/delivery-tally.js';
import type { AddressPolicy } from './values/address.js';
import type { SecretBox } from './values/secret-box.js';
import { WebhookDirectory } from './webhooks/directory.js';
import { type DeliveryControl, Probes } from './webhooks/probes.js';
import { deleteDue, verifyDue } from './webhooks/webhook-writes.js';

const engineConnections = 4;

export interface DeliveryParts {
  secrets: SecretBox;
  control: DeliveryControl;
  /** Stops starting attempts. Called first when the service stops. */
  pause: () => void;
  /** Starts attempting deliveries. Not called on nodes without the delivery role. */
  start: () => Promise<void>;
  stop: () => Promise<void>;
}

/** What every part of a node is made of. */
export interface NodeParts {
  config: Config;
  database: Database;
  logger: Logger;
  metrics: Metrics;
  now: () => number;
  policy: AddressPolicy;
  recorded: Notifier;
}

export interface DeliveringOptions extends NodeParts {
  target: DatabaseTarget;
  /** The connections of the engine, instead of those that it opens itself. */
  own?: Database;
  /** Whether no other node can run on this database. */
  alone: boolean;
  reachability: Reachability;
  tracer: AttemptTracer | undefined;
}

/** Creates what sends requests to receivers: the engine, verifications and tests. */
export async function openDelivery(options: DeliveringOptions): Promise<DeliveryParts> {
  const { config, database, target, alone, reachability, tracer, policy, logger, metrics, recorded, now } =
    options;
  // The engine has its own connections, so that requests cannot prevent it from renewing leases and writing outcomes.
  const own = options.own ?? new Database(target, engineConnections, reachability, database.route);
  const { deliveryTimeoutMs: timeoutMs, directDatabaseUrl: direct, retryScheduleMs } = config;
  const secrets = await openSecretBox(config);
  const transport = new Transport({ policy, timeoutMs });
  const sender: Sender = { transport, userAgent: `Posthorn/${version}`, now, tracer };
  const probes = new Probes({ sender, secrets, timeoutMs, limits });
  const directory = new WebhookDirectory(own, secrets, limits, (webhook_id, error) =>
    logger.error({ webhook_id, reason: error.message }, 'deliveries to this webhook are waiting'),
  );
  const changes = new WebhookChanges({
    database: own,
    directory,
    logger,
    alone,
    node: () => engine.node,
  });
  const tally = new DeliveryTally({ database: own, logger, now });
  const engine = new DeliveryEngine({
    database: own,
    logger,
    directory,
    sender,
    timeoutMs,
    retryScheduleMs,
    inFlightPerWebhook: config.inFlightPerWebhook,
    alone,
    target: direct === undefined ? target : { connectionString: direct },
    listenLogger: direct === undefined ? undefined : logger,
    random: Math.random,
    onRecorded: (batch) => recorded.notify(batch.organizations),
    onDisabled: (webhook) => {
      directory.forget(webhook.id);
      void changes.alignWaiting(webhook);
    },
    onSettled: (deliveries) => metrics.settlementSize.observe(deliveries),
    onAttempt: (delivery, outcome, verdict, webhook) => {
      tally.note(webhook, outcome, verdict);
      metrics.observeAttempt(outcome, verdict.kind);
      if (delivery.attempts === 0)
        metrics.observeLatency(now() - outcome.durationMs - delivery.delivery_created_at.getTime());
      // The receiver misses the event unless someone acts. The service handles everything else itself.
      const level = verdict.kind === 'given_up' || verdict.kind === 'gone' ? 'warn' : 'info';
      if (logger.isLevelEnabled(level)) logger[level](attemptLine(delivery, outcome, verdict), 'delivery');
    },
  });
  database.onLeaseInDoubt = () => engine.abandonLeases();
  own.onLeaseInDoubt = () => engine.abandonLeases();
  watchEngine(metrics, engine, directory);
  watchConnections(metrics, { requests: database, engine: own });

  const control: DeliveryControl = {
    verify: async (webhook) => {
      const failure = await probes.verify(webhook);
      const { id: webhook_id, organization_id } = webhook;
      const { reason = null, http_status = 200 } = failure ?? {};
      logger.info({ webhook_id, organization_id, verified: !failure, reason, http_status }, 'verification');
      return failure;
    },
    test: (webhook, event) => probes.test(webhook, event),
    room: () => engine.room(),
    accept: (batch) => {
      engine.accept(batch);
      recorded.notify(batch.organizations);
    },
    endWaiting: (webhook) => changes.endWaiting(webhook),
    forgetEverywhere: async (webhook) => {
      await changes.forgetEverywhere(webhook);
      engine.wake();
    },
  };
  const jobs: { stop: () => Promise<void> }[] = [];
  return {
    secrets,
    control,
    start: async () => {
      await engine.start();
      const context = { database, logger, now, ...control };
      jobs.push(
        new Repeating(limits.verifyEveryMs, () => verifyDue(context), logger),
        new Repeating(limits.expireEveryMs, () => deleteDue(context), logger),
        new Replays(database, logger),
      );
    },
    pause: () => engine.pause(),
    stop: async () => {
      changes.stop();
      // Together: a verification can take seconds, and the engine gives its deliveries back at once.
      await Promise.all([engine.stop(), ...jobs.map((job) => job.stop())]);
      await tally.stop();
      await transport.close();
      await own.close();
    },
  };
}

/** Returns the fields of the log line for an attempt. */
function attemptLine(delivery: LeasedDelivery, outcome: Outcome, verdict: Verdict): object {
  return {
    delivery_id: delivery.delivery_id,
    webhook_id: delivery.webhook_id,
    organization_id: delivery.organization_id,
    event_id: delivery.event_id,
    type: delivery.type,
    attempt: delivery.attempts + 1,
    http_status: outcome.kind === 'response' ? outcome.httpStatus : null,
    error: outcome.kind === 'response' ? null : outcome.error,
    duration_ms: outcome.durationMs,
    verdict: verdict.kind,
  };
}
