import type { Logger } from 'pino';
import { type Config, version } from './config.js';
import { DeliveryEngine } from './delivery/engine.js';
import { limits } from './delivery/limits.js';
import { DeliveryTally } from './delivery/tally.js';
import type { AddressPolicy } from './domain/address.js';
import type { Outcome, Verdict } from './domain/delivery.js';
import { SecretBox } from './domain/secret-box.js';
import type { DeliveryControl } from './http/delivery-control.js';
import { Replays } from './jobs/replays.js';
import { rotateSecrets } from './jobs/secret-rotation.js';
import { Verifications } from './jobs/verifications.js';
import { secretKey } from './keys.js';
import type { Sender } from './sending/attempt.js';
import { WebhookDirectory } from './sending/directory.js';
import { Prober } from './sending/prober.js';
import { Transport } from './sending/transport.js';
import type { Notifier } from './signals/notifier.js';
import { Database, type DatabaseTarget } from './storage/database.js';
import type { LeasedDelivery } from './storage/leased-delivery.js';
import type { Metrics } from './web/metrics.js';
import { WebhookChanges } from './webhook-changes.js';

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

export interface DeliveringOptions {
  config: Config;
  database: Database;
  target: DatabaseTarget;
  policy: AddressPolicy;
  logger: Logger;
  metrics: Metrics;
  recorded: Notifier;
  now: () => number;
}

/** Creates what sends requests to receivers: the engine, verifications and tests. */
export async function openDelivery(options: DeliveringOptions): Promise<DeliveryParts> {
  const { config, database, target, policy, logger, metrics, recorded, now } = options;
  // The engine has its own connections, so that requests cannot prevent it from renewing leases and writing outcomes.
  const own = new Database(target, engineConnections);
  const { deliveryTimeoutMs: timeoutMs, retryScheduleMs } = config;
  const secrets = new SecretBox(config.secretKeys ?? [await secretKey(config.dataDir)]);
  const transport = new Transport({ policy, timeoutMs });
  const sender: Sender = { transport, userAgent: `Posthorn/${version}`, now };
  const prober = new Prober(sender, secrets, timeoutMs, limits);
  const alone = config.databaseUrl === undefined;
  const directory = new WebhookDirectory(own, secrets, limits, (webhook_id, error) =>
    logger.error({ webhook_id, reason: error.message }, 'deliveries of this webhook wait'),
  );
  const changes = new WebhookChanges({
    ...{ database: own, directory, logger, alone },
    node: () => engine.node,
  });
  const tally = new DeliveryTally(own, logger, now);
  const engine = new DeliveryEngine({
    ...{ database: own, target, logger, directory, sender, timeoutMs, retryScheduleMs, alone },
    random: Math.random,
    onRecorded: (batch) => recorded.notify(batch.organizations),
    onDisabled: (webhook) => {
      directory.forget(webhook.id);
      void changes.alignWaiting(webhook);
    },
    onAttempt: (delivery, outcome, verdict, webhook) => {
      tally.note(webhook, outcome, verdict);
      metrics.observeAttempt(outcome, verdict.kind);
      if (logger.isLevelEnabled('info')) logger.info(attemptLine(delivery, outcome, verdict), 'delivery');
    },
  });
  database.onLeaseInDoubt = () => engine.abandonLeases();
  own.onLeaseInDoubt = () => engine.abandonLeases();
  metrics.watchQueue(() => engine.load);

  const control: DeliveryControl = {
    verify: async (webhook) => {
      const failure = await prober.verify(webhook);
      const { id: webhook_id, organization_id } = webhook;
      const { reason = null, http_status = 200 } = failure ?? {};
      logger.info({ webhook_id, organization_id, verified: !failure, reason, http_status }, 'verification');
      return failure;
    },
    test: (webhook, event) => prober.test(webhook, event),
    room: () => engine.room(),
    accept: (batch) => {
      engine.accept(batch);
      recorded.notify(batch.organizations);
    },
    endWaiting: (webhook) => changes.alignWaiting(webhook),
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
      jobs.push(
        new Verifications({
          ...{ database, logger, now, everyMs: limits.verifyEveryMs },
          ...control,
        }),
        new Replays(database, logger),
      );
      // The secrets can still be decrypted, and the next start tries again.
      await rotateSecrets(database, secrets, logger).catch((error) =>
        logger.warn({ reason: (error as Error).message }, 'secrets could not be encrypted again yet'),
      );
    },
    pause: () => engine.pause(),
    stop: async () => {
      changes.stop();
      await Promise.all(jobs.map((job) => job.stop()));
      await engine.stop();
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
