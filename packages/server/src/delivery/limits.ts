const MiB = 1024 * 1024;

/** Every limit of the engine: value, unit, reason. `test/delivery/limits.test.ts` checks how they relate. */
export const limitTable = {
  // Requests in flight
  slots: [1_024, 'requests', 'For all webhooks of a node: more sockets add no throughput.'],
  spareSlots: [512, 'requests', 'Extra slots: one for each slot that a stalled webhook holds.'],
  unhealthySlots: [512, 'requests', 'For all webhooks that are not healthy: the healthy keep half.'],
  elasticSlots: [768, 'requests', 'Above this, a healthy webhook falls back to the usual window.'],
  elasticUnhealthySlots: [
    448,
    'requests',
    'For webhooks that are not healthy: leaves one usual window free.',
  ],
  windowAtStart: [8, 'requests', 'Enough to learn whether a webhook responds.'],
  windowUsual: [64, 'requests', 'Keeps any fast receiver busy.'],
  windowMax: [512, 'requests', '300 events/s at 1 s each need 300; half the slots stay free.'],
  windowFailing: [4, 'requests', 'Enough for a failing webhook to make progress on its backlog.'],
  elasticMs: [50, 'ms', '64 requests of 50 ms are 1,280 per second: a faster receiver needs no more.'],
  failingAfter: [5, 'failures', 'In a row: any receiver fails from time to time.'],
  slowMs: [1_000, 'ms', 'A slower response holds its slot so long that others wait.'],
  restMs: [25, 'ms', 'A receiver that refuses immediately gets 160 requests per second, not 8,000.'],
  restLongerEvery: [500, 'failures', 'A dead receiver gets fewer and fewer requests.'],
  restFactorMax: [4, 'ratio', 'With 40 attempts per second, a recovery is still noticed within 0.1 s.'],
  paceSlackMs: [50, 'ms', 'A webhook with a rate limit makes up for a timer that fires late.'],
  // Memory
  queued: [30_000, 'deliveries', 'About 50 MB with payloads of 1 kB.'],
  queuedBytes: [64 * MiB, 'bytes', 'Keeps the process below 250 MB even with large payloads.'],
  queuedReserve: [8_000, 'deliveries', 'Reserved for webhooks with few deliveries in memory.'],
  queuedMin: [100, 'deliveries', 'Fills a usual window while the next claim runs.'],
  laneQueued: [10_000, 'deliveries', 'One second of work for the fastest receiver.'],
  laneBytes: [16 * MiB, 'bytes', 'A quarter of the total: large payloads leave room for others.'],
  laneQueuedNew: [500, 'deliveries', 'Until a webhook responds, the rest stays in the database.'],
  laneQueuedFailing: [150, 'deliveries', 'One second of attempts for a failing webhook.'],
  pacedSeconds: [10, 's', 'A webhook with a rate limit keeps this much work in memory.'],
  unresponsiveBytes: [
    16 * MiB,
    'bytes',
    'For all webhooks that are not responsive, in addition to the rest.',
  ],
  recordedFraction: [
    0.8,
    'ratio',
    'Recordings leave a fifth of a lane to claims, so that retries find room.',
  ],
  claimRoomMin: [0.125, 'ratio', 'Avoids a claim for every single delivery that leaves a lane.'],
  talliedWebhooks: [5_000, 'webhooks', 'Counted in memory; beyond this, counts go to new rows.'],
  lanes: [5_000, 'webhooks', 'Idle webhooks are remembered up to this number.'],
  // Claims
  claimDeliveries: [5_000, 'deliveries', 'Parsing them blocks the process for about 50 ms.'],
  claimBytes: [8 * MiB, 'bytes', 'Parsing them blocks the process.'],
  claimWebhooks: [100, 'webhooks', 'Limits the statement; the next claim takes the others.'],
  claimEach: [100, 'deliveries', 'For a webhook that this node has not sent to recently.'],
  claimMsMax: [10_000, 'ms', 'A claim that took too long gets more time, up to this much.'],
  claimFractionMin: [0.01, 'ratio', 'A claim that took too long is repeated with half the room.'],
  pollMs: [500, 'ms', 'Finds deliveries without a notification.'],
  wakeMs: [20, 'ms', 'One claim for all webhooks that get room at about the same time.'],
  announcedMs: [60, 'ms', 'Notifications are 50 ms apart; this covers the time between.'],
  retryStepMs: [100, 'ms', 'Groups retries that are due at about the same time.'],
  // Settling
  gatherMs: [20, 'ms', 'Groups outcomes into one commit; too short to notice.'],
  settleOutcomes: [500, 'outcomes', 'One statement takes about 10 ms.'],
  unsettledOutcomes: [3_000, 'outcomes', 'Above this, sending stops: after a crash, they are sent again.'],
  settleAgainMs: [500, 'ms', 'After the database was unreachable or refused a batch.'],
  healthOutcomes: [50, 'outcomes', 'A smaller batch reports the health of all its webhooks.'],
  healthEveryMs: [1_000, 'ms', 'In a larger batch, an unchanged webhook is reported this often.'],
  tallyEveryMs: [8_000, 'ms', 'Statistics are at most 10 s old. A crash loses what was not written yet.'],
  // Leases and webhooks in memory
  renewEveryMs: [1_000, 'ms', 'Several renewals may fail before a lease ends.'],
  leaseMarginMs: [2_500, 'ms', 'A lease outlives an attempt, so that no other node repeats it.'],
  releaseDeliveries: [20_000, 'deliveries', 'As many as one statement releases within its time limit.'],
  releaseDeliveriesMin: [200, 'deliveries', 'As many as even a slow database releases within that limit.'],
  trustMs: [1_000, 'ms', 'How long the old state of a changed webhook may still be used.'],
  refreshMs: [500, 'ms', 'Webhooks in use are read again before they are too old.'],
  refreshEveryMs: [250, 'ms', 'How often the age of webhooks in use is checked.'],
  forgetMs: [300_000, 'ms', 'A webhook unused for this long is forgotten.'],
  // Waits and shutdown
  alignDeliveries: [1_000, 'deliveries', 'As many as one statement ends or holds within its time limit.'],
  alignWithinMs: [2_000, 'ms', 'A request that disables a webhook waits at most this long.'],
  alignAgainMs: [
    2_000,
    'ms',
    'The database could not end or hold waiting deliveries, so it gets time to recover.',
  ],
  sealedWaitMs: [5_000, 'ms', 'No key decrypts the secret, so an operator must act.'],
  outOfResourcesWaitMs: [2_000, 'ms', 'This machine cannot open another connection.'],
  drainMs: [8_500, 'ms', 'The whole shutdown may take 10 s.'],
  // Verifications
  verificationMs: [5_000, 'ms', 'A receiver that needs longer for a verification is not ready.'],
  verifyEveryMs: [2_000, 'ms', 'How often webhooks that are due are verified again.'],
} as const satisfies Record<string, readonly [value: number, unit: string, reason: string]>;

export const limits = Object.fromEntries(
  Object.entries(limitTable).map(([name, [value]]) => [name, value]),
) as { readonly [Name in keyof typeof limitTable]: number };
