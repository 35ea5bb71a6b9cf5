interface Limit {
  value: number;
  unit: 'requests' | 'deliveries' | 'webhooks' | 'bytes' | 'ms' | 'failures' | 'outcomes' | 'ratio';
  reason: string;
}

const MiB = 1024 * 1024;

/** Every limit of the engine. `test/delivery/limits.test.ts` asserts how they relate. */
export const limitTable = {
  // Requests under way
  slots: {
    value: 1_024,
    unit: 'requests',
    reason: 'One node, all webhooks: more sockets gain no throughput.',
  },
  spareSlots: {
    value: 512,
    unit: 'requests',
    reason: 'Beyond the slots, while stalled webhooks hold as many.',
  },
  unprovenSlots: {
    value: 512,
    unit: 'requests',
    reason: 'Webhooks that are not healthy, together: the other half of the slots stays with the healthy.',
  },
  elasticSlots: {
    value: 768,
    unit: 'requests',
    reason: 'Past this a healthy webhook falls back to its usual window, so that others find a slot.',
  },
  elasticUnprovenSlots: {
    value: 448,
    unit: 'requests',
    reason: 'The same among webhooks that are not healthy: one more usual window fits.',
  },
  windowAtStart: { value: 8, unit: 'requests', reason: 'Enough to learn whether a webhook responds.' },
  windowUsual: { value: 64, unit: 'requests', reason: 'Keeps any fast receiver busy.' },
  windowMax: {
    value: 512,
    unit: 'requests',
    reason: '300 events/s at 1 s each need 300; one webhook leaves room.',
  },
  windowFailing: {
    value: 4,
    unit: 'requests',
    reason: 'Enough for the backlog of a failing webhook to move.',
  },
  failuresToFail: { value: 5, unit: 'failures', reason: 'In a row: a receiver may fail now and then.' },
  slowMs: {
    value: 1_000,
    unit: 'ms',
    reason: 'A slower response holds its slot so long that others would wait.',
  },
  restMs: {
    value: 25,
    unit: 'ms',
    reason: 'A receiver that refuses at once is asked 160 times a second, not 8,000.',
  },
  failuresToRestLonger: { value: 500, unit: 'failures', reason: 'A dead receiver is asked less and less.' },
  restFactorMax: {
    value: 4,
    unit: 'ratio',
    reason: '40 attempts a second still notice within 0.1 s that it is back.',
  },
  // Memory
  queued: { value: 30_000, unit: 'deliveries', reason: 'About 50 MB with the usual payloads of 1 kB.' },
  queuedBytes: {
    value: 64 * MiB,
    unit: 'bytes',
    reason: 'Keeps the process under 250 MB whatever payloads hold.',
  },
  queuedReserve: {
    value: 8_000,
    unit: 'deliveries',
    reason: 'The last room is for webhooks that have little here.',
  },
  queuedLittle: {
    value: 100,
    unit: 'deliveries',
    reason: 'Feeds a usual window while the next claim is under way.',
  },
  laneQueued: { value: 8_000, unit: 'deliveries', reason: 'A second of the fastest receiver.' },
  laneBytes: { value: 16 * MiB, unit: 'bytes', reason: 'A quarter of all: large payloads keep nobody out.' },
  laneQueuedNew: {
    value: 500,
    unit: 'deliveries',
    reason: 'Until it responds, the rest is safer in the database.',
  },
  laneQueuedFailing: {
    value: 150,
    unit: 'deliveries',
    reason: 'A second of what a failing webhook is sent.',
  },
  unprovenBytes: {
    value: 16 * MiB,
    unit: 'bytes',
    reason: 'Webhooks that do not respond, together, beside the rest.',
  },
  recordedShare: {
    value: 0.75,
    unit: 'ratio',
    reason:
      'Recordings leave a quarter of a webhook’s memory to claims, so retries never wait behind new events.',
  },
  lanes: {
    value: 5_000,
    unit: 'webhooks',
    reason: 'What is known of a quiet webhook is kept, but not of all ever.',
  },
  // Claims
  claimDeliveries: { value: 5_000, unit: 'deliveries', reason: 'Read in one piece, in some 50 ms.' },
  claimBytes: { value: 8 * MiB, unit: 'bytes', reason: 'Read in one piece, while nothing else is.' },
  claimWebhooks: {
    value: 100,
    unit: 'webhooks',
    reason: 'Bounds the statement; the next claim takes the others.',
  },
  claimEach: { value: 100, unit: 'deliveries', reason: 'For a webhook this node has not sent to lately.' },
  claimPartMin: {
    value: 0.01,
    unit: 'ratio',
    reason: 'A claim that took too long is tried again with half as much.',
  },
  pollMs: { value: 500, unit: 'ms', reason: 'Finds what no notification announced.' },
  wakeMs: {
    value: 20,
    unit: 'ms',
    reason: 'One claim for all webhooks that get room at about the same time.',
  },
  announcedMs: {
    value: 60,
    unit: 'ms',
    reason: 'Notifications are 50 ms apart; this finds those in between.',
  },
  retryStepMs: { value: 100, unit: 'ms', reason: 'Retries that are due at about the same time go together.' },
  // Settling
  gatherMs: {
    value: 20,
    unit: 'ms',
    reason: 'One commit for the outcomes of a busy moment; too short to notice.',
  },
  settleOutcomes: { value: 500, unit: 'outcomes', reason: 'One statement takes some 10 ms.' },
  unsettledOutcomes: {
    value: 3_000,
    unit: 'outcomes',
    reason: 'They would be sent again after a crash: sending stops.',
  },
  settleAgainMs: { value: 500, unit: 'ms', reason: 'The database was lost or refused a batch.' },
  healthOutcomes: {
    value: 50,
    unit: 'outcomes',
    reason: 'A smaller batch reports the health of all its webhooks.',
  },
  healthEveryMs: {
    value: 1_000,
    unit: 'ms',
    reason: 'In larger ones, a webhook that has not changed waits this long.',
  },
  // Leases, and what a node knows
  renewEveryMs: { value: 1_000, unit: 'ms', reason: 'Several renewals may fail before a lease ends.' },
  leaseMarginMs: {
    value: 2_500,
    unit: 'ms',
    reason: 'A lease outlives an attempt, so that nobody sends it twice.',
  },
  releaseDeliveries: {
    value: 20_000,
    unit: 'deliveries',
    reason: 'Released in one statement within its time limit.',
  },
  trustMs: {
    value: 1_000,
    unit: 'ms',
    reason: 'After a change to a webhook its old address is used no longer.',
  },
  refreshMs: { value: 500, unit: 'ms', reason: 'What is in use is read again before it may not be trusted.' },
  refreshEveryMs: { value: 250, unit: 'ms', reason: 'How often that is checked.' },
  forgetMs: { value: 300_000, unit: 'ms', reason: 'A webhook that was not used for so long is forgotten.' },
  // Waits and stops
  alignDeliveries: {
    value: 1_000,
    unit: 'deliveries',
    reason: 'Ended or held in one statement within its time limit.',
  },
  alignWithinMs: {
    value: 2_000,
    unit: 'ms',
    reason: 'A request that disables a webhook waits no longer for the rest.',
  },
  sealedWaitMs: { value: 5_000, unit: 'ms', reason: 'No key opens the secret; an operator has to act.' },
  exhaustedWaitMs: { value: 2_000, unit: 'ms', reason: 'This machine can open no further connection.' },
  drainMs: { value: 8_500, unit: 'ms', reason: 'A stop has 10 s for everything.' },
} as const satisfies Record<string, Limit>;

export const limits = Object.fromEntries(
  Object.entries(limitTable).map(([name, { value }]) => [name, value]),
) as { readonly [Name in keyof typeof limitTable]: number };
