const MiB = 1024 * 1024;

/** Every limit of the engine: value, unit, reason. `test/delivery/limits.test.ts` asserts how they relate. */
export const limitTable = {
  // Requests under way
  slots: [1_024, 'requests', 'One node, all webhooks: more sockets gain no throughput.'],
  spareSlots: [512, 'requests', 'Beyond the slots, while stalled webhooks hold as many.'],
  unprovenSlots: [512, 'requests', 'Webhooks that are not healthy, together: half is for the healthy.'],
  elasticSlots: [768, 'requests', 'Past this a healthy webhook falls back to its usual window.'],
  elasticUnprovenSlots: [448, 'requests', 'The same for the others: one more usual window fits.'],
  windowAtStart: [8, 'requests', 'Enough to learn whether a webhook responds.'],
  windowUsual: [64, 'requests', 'Keeps any fast receiver busy.'],
  windowMax: [512, 'requests', '300 events/s at 1 s each need 300; one webhook leaves room.'],
  windowFailing: [4, 'requests', 'Enough for the backlog of a failing webhook to move.'],
  elasticMs: [50, 'ms', '64 requests of 50 ms each are 1,280 a second: a faster receiver needs no more.'],
  failuresToFail: [5, 'failures', 'In a row: a receiver may fail now and then.'],
  slowMs: [1_000, 'ms', 'A slower response holds its slot so long that others would wait.'],
  restMs: [25, 'ms', 'A receiver that refuses at once is asked 160 times a second, not 8,000.'],
  failuresToRestLonger: [500, 'failures', 'A dead receiver is asked less and less.'],
  restFactorMax: [4, 'ratio', '40 attempts a second still notice within 0.1 s that it is back.'],
  // Memory
  queued: [30_000, 'deliveries', 'About 50 MB with the usual payloads of 1 kB.'],
  queuedBytes: [64 * MiB, 'bytes', 'Keeps the process under 250 MB whatever payloads hold.'],
  queuedReserve: [8_000, 'deliveries', 'The last room is for webhooks that have little here.'],
  queuedLittle: [100, 'deliveries', 'Feeds a usual window while the next claim is under way.'],
  laneQueued: [10_000, 'deliveries', 'A second of the fastest receiver.'],
  laneBytes: [16 * MiB, 'bytes', 'A quarter of all: large payloads keep nobody out.'],
  laneQueuedNew: [500, 'deliveries', 'Until it responds, the rest is safer in the database.'],
  laneQueuedFailing: [150, 'deliveries', 'A second of what a failing webhook is sent.'],
  unprovenBytes: [16 * MiB, 'bytes', 'Webhooks that do not respond, together, beside the rest.'],
  recordedShare: [
    0.8,
    'ratio',
    'Recordings leave a fifth of a lane to claims: retries do not wait for them.',
  ],
  askShare: [0.125, 'ratio', 'A claim is not made for every single delivery that leaves a lane.'],
  lanes: [5_000, 'webhooks', 'What is known of a quiet webhook is kept, but not of all ever.'],
  // Claims
  claimDeliveries: [5_000, 'deliveries', 'Read in one piece, in some 50 ms.'],
  claimBytes: [8 * MiB, 'bytes', 'Read in one piece, while nothing else is.'],
  claimWebhooks: [100, 'webhooks', 'Bounds the statement; the next claim takes the others.'],
  claimEach: [100, 'deliveries', 'For a webhook this node has not sent to lately.'],
  claimPartMin: [0.01, 'ratio', 'A claim that took too long is tried again with half as much.'],
  pollMs: [500, 'ms', 'Finds what no notification announced.'],
  wakeMs: [20, 'ms', 'One claim for all webhooks that get room at about the same time.'],
  announcedMs: [60, 'ms', 'Notifications are 50 ms apart; this finds those in between.'],
  retryStepMs: [100, 'ms', 'Retries that are due at about the same time go together.'],
  // Settling
  gatherMs: [20, 'ms', 'One commit for the outcomes of a busy moment; too short to notice.'],
  settleOutcomes: [500, 'outcomes', 'One statement takes some 10 ms.'],
  unsettledOutcomes: [3_000, 'outcomes', 'They would be sent again after a crash: sending stops.'],
  settleAgainMs: [500, 'ms', 'The database was lost or refused a batch.'],
  healthOutcomes: [50, 'outcomes', 'A smaller batch reports the health of all its webhooks.'],
  healthEveryMs: [1_000, 'ms', 'In larger ones, a webhook that has not changed waits this long.'],
  // Leases, and what a node knows
  renewEveryMs: [1_000, 'ms', 'Several renewals may fail before a lease ends.'],
  leaseMarginMs: [2_500, 'ms', 'A lease outlives an attempt, so that nobody sends it twice.'],
  releaseDeliveries: [20_000, 'deliveries', 'Released in one statement within its time limit.'],
  trustMs: [1_000, 'ms', 'After a change to a webhook its old address is used no longer.'],
  refreshMs: [500, 'ms', 'What is in use is read again before it may not be trusted.'],
  refreshEveryMs: [250, 'ms', 'How often that is checked.'],
  forgetMs: [300_000, 'ms', 'A webhook that was not used for so long is forgotten.'],
  // Waits and stops
  alignDeliveries: [1_000, 'deliveries', 'Ended or held in one statement within its time limit.'],
  alignWithinMs: [2_000, 'ms', 'A request that disables a webhook waits no longer for the rest.'],
  sealedWaitMs: [5_000, 'ms', 'No key opens the secret; an operator has to act.'],
  outOfResourcesWaitMs: [2_000, 'ms', 'This machine can open no further connection.'],
  drainMs: [8_500, 'ms', 'A stop has 10 s for everything.'],
  // Beside deliveries
  verificationMs: [5_000, 'ms', 'A receiver that takes longer for a verification is not ready.'],
  verifyEveryMs: [2_000, 'ms', 'Finds webhooks that are due to be verified again, after a minute or more.'],
} as const satisfies Record<string, readonly [value: number, unit: string, reason: string]>;

export const limits = Object.fromEntries(
  Object.entries(limitTable).map(([name, [value]]) => [name, value]),
) as { readonly [Name in keyof typeof limitTable]: number };
