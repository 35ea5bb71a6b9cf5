const MiB = 1024 * 1024;

/**
 * The limits of the engine, each with its value, its unit and the reason for it. A webhook is called unhealthy in every
 * condition except `healthy`. `test/engine/limits.test.ts` checks how the limits relate to each other.
 */
export const limitTable = {
  // Requests in flight
  slots: [1_024, 'requests', 'For all webhooks of a node together: more sockets add no throughput.'],
  spareSlots: [512, 'requests', 'Extra slots, one for each request to a stalled webhook.'],
  unhealthySlots: [512, 'requests', 'For all unhealthy webhooks: half is left for the healthy ones.'],
  startsAtOnce: [8, 'requests', 'Starting them blocks the process for about 2 ms.'],
  elasticSlots: [768, 'requests', 'Above this, a healthy webhook gets at most the usual window.'],
  elasticUnhealthySlots: [448, 'requests', 'The same for unhealthy webhooks: one usual window stays free.'],
  windowAtStart: [8, 'requests', 'Enough to learn whether a webhook responds.'],
  windowUsual: [64, 'requests', 'Keeps any fast receiver busy.'],
  windowMax: [512, 'requests', 'Allows 512 per second at 1 s each. Half of the slots stay free.'],
  windowFailing: [4, 'requests', 'Enough for a failing webhook to make progress on its backlog.'],
  inFlightBytes: [64 * MiB, 'bytes', 'For all payloads in flight: hanging requests cannot fill the memory.'],
  unhealthyInFlightBytes: [32 * MiB, 'bytes', 'For all unhealthy webhooks: half is left for healthy ones.'],
  firstFraction: [0.3, 'ratio', 'Until this much is in flight, a lone payload may have any size.'],
  // Conditions, windows, and rests after failures
  gentleFrom: [4, 'requests', 'An old backlog starts with this many, so that it overwhelms no receiver.'],
  gentleMs: [60_000, 'ms', 'How long it takes until an old backlog gets as many as any other.'],
  oldBacklogMs: [600_000, 'ms', 'A backlog that is younger than this is a burst, which a receiver expects.'],
  elasticMs: [50, 'ms', 'If responses take 50 ms, a window of 64 allows 1,280 per second, which is enough.'],
  failingAfter: [5, 'failures', 'Any receiver fails now and then, but rarely this many times in a row.'],
  slowMs: [1_000, 'ms', 'A request that takes longer holds its slot so long that others have to wait.'],
  restMs: [25, 'ms', 'A receiver that refuses immediately gets 160 requests per second, not 8,000.'],
  restLongerEvery: [500, 'failures', 'Doubles the rest: dead receivers get fewer requests.'],
  restFactorMax: [4, 'ratio', 'At this factor, a webhook still gets 40 attempts per second.'],
  paceSlackMs: [50, 'ms', 'A timer that is this late does not delay later requests.'],
  // Memory
  queued: [30_000, 'deliveries', 'About 50 MB with payloads of 1 kB.'],
  queuedBytes: [80 * MiB, 'bytes', 'Keeps the process below 250 MB even with large payloads.'],
  queuedReserve: [8_000, 'deliveries', 'Part of `queued`, for webhooks with few deliveries in memory.'],
  queuedMin: [100, 'deliveries', 'Enough to fill a usual window while the next claim runs.'],
  laneQueued: [10_000, 'deliveries', 'One second of work for the fastest receiver.'],
  laneQueuedNew: [500, 'deliveries', 'Until a webhook responds, its other deliveries stay in the database.'],
  laneQueuedFailing: [150, 'deliveries', 'One second of attempts for a failing webhook.'],
  pacedSeconds: [10, 's', 'A webhook with a rate limit keeps at most this much work in memory.'],
  unresponsiveBytes: [20 * MiB, 'bytes', 'In addition, for webhooks that are not responsive.'],
  laneFraction: [0.25, 'ratio', 'A webhook gets this part of what others leave of a byte limit.'],
  crowdedFraction: [0.8, 'ratio', 'Above this part of a limit on queued bytes, deliveries are given back.'],
  recordedFraction: [0.8, 'ratio', 'Recordings fill only this part of a lane, so claimed retries find room.'],
  claimRoomMin: [0.125, 'ratio', 'Claims for a lane when this part is free, not for each delivery.'],
  talliedWebhooks: [5_000, 'webhooks', 'With more, the node writes its counts and starts new rows.'],
  lanes: [5_000, 'webhooks', 'With more lanes than this, idle ones are forgotten.'],
  // Claims
  claimDeliveries: [1_000, 'deliveries', 'Parsing them blocks the process for about 10 ms.'],
  claimBytes: [8 * MiB, 'bytes', 'Parsing more would block the process for too long.'],
  claimWebhooks: [100, 'webhooks', 'Limits the cost of the statement. The next claim takes the others.'],
  claimRetryShare: [0.5, 'ratio', 'Retries take at most this part of the room, so new deliveries go on.'],
  claimEach: [100, 'deliveries', 'For a webhook that this node does not know or that is idle.'],
  claimMsMax: [10_000, 'ms', 'After a claim that took too long, the next gets more time, up to this.'],
  claimFractionMin: [0.01, 'ratio', 'Failed claims shrink the next one, down to this part.'],
  pollMs: [500, 'ms', 'A node claims at least this often, in case it missed a notification.'],
  wakeMs: [20, 'ms', 'Groups webhooks that get room at about the same time into one claim.'],
  announcedMs: [60, 'ms', 'After a notification, none follows for 50 ms. A node then claims again.'],
  retryStepMs: [100, 'ms', 'Groups retries that are due at about the same time.'],
  // Settling
  gatherMs: [20, 'ms', 'Groups outcomes into one commit; too short to notice.'],
  settleOutcomes: [500, 'outcomes', 'Writing them in one statement takes about 10 ms.'],
  settleOutcomesMin: [10, 'outcomes', 'As many as even a slow database writes within the time limit.'],
  unsettledOutcomes: [3_000, 'outcomes', 'Above this, sending pauses: a crash would repeat these attempts.'],
  settleAgainMs: [500, 'ms', 'The pause after the database was unreachable or refused a batch.'],
  healthOutcomes: [50, 'outcomes', 'A smaller batch reports the health of all its webhooks.'],
  healthEveryMs: [1_000, 'ms', 'In larger batches, an unchanged result is reported this often.'],
  tallyEveryMs: [8_000, 'ms', 'Statistics are at most 10 s old. A crash loses the rest.'],
  // Leases and webhooks in memory
  renewEveryMs: [1_000, 'ms', 'Several renewals may fail before a lease ends.'],
  leaseMarginMs: [2_500, 'ms', 'A lease outlasts an attempt by this, so nobody repeats it.'],
  releaseDeliveries: [20_000, 'deliveries', 'As many as one statement releases within its time limit.'],
  releaseDeliveriesMin: [200, 'deliveries', 'As many as even a slow database releases within that time.'],
  trustMs: [1_000, 'ms', 'How long the old state of a changed webhook may still be used.'],
  refreshMs: [500, 'ms', 'A node reads a webhook in use again when what it knows about it is this old.'],
  refreshEveryMs: [250, 'ms', 'How often a node looks for webhooks that have to be read again.'],
  forgetMs: [300_000, 'ms', 'A webhook unused for this long is forgotten.'],
  // Waits and shutdown
  alignDeliveries: [1_000, 'deliveries', 'As many as one statement ends or holds within its time limit.'],
  alignWithinMs: [2_000, 'ms', 'A request that changes a webhook waits this long for deliveries.'],
  alignAgainMs: [2_000, 'ms', 'If the database cannot end or hold deliveries, it gets time to recover.'],
  sealedWaitMs: [5_000, 'ms', 'If no key decrypts the secret, deliveries wait for an operator to add one.'],
  outOfResourcesWaitMs: [2_000, 'ms', 'How long deliveries wait if this machine cannot open a connection.'],
  drainMs: [8_500, 'ms', 'The whole shutdown may take 10 s.'],
  // Verifications
  verificationMs: [5_000, 'ms', 'A receiver that needs longer for a verification is not ready.'],
  expireEveryMs: [1_000, 'ms', 'How often a node looks for webhooks that have expired.'],
  verifyEveryMs: [2_000, 'ms', 'How often a node looks for webhooks that are due to be verified again.'],
} as const satisfies Record<string, readonly [value: number, unit: string, reason: string]>;

export const limits = Object.fromEntries(
  Object.entries(limitTable).map(([name, [value]]) => [name, value]),
) as { readonly [Name in keyof typeof limitTable]: number };
