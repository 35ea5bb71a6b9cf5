import { certificates } from './scenarios/certificates.js';
import { clocks } from './scenarios/clocks.js';
import { connections } from './scenarios/connections.js';
import { cuts } from './scenarios/cuts.js';
import { diskFull } from './scenarios/disk-full.js';
import { failover } from './scenarios/failover.js';
import { kill } from './scenarios/kill.js';
import { late } from './scenarios/late.js';
import { move } from './scenarios/move.js';
import { names } from './scenarios/names.js';
import { overload } from './scenarios/overload.js';
import { pauses } from './scenarios/pauses.js';
import { receivers } from './scenarios/receivers.js';
import { recordPoints } from './scenarios/record-points.js';
import { restart } from './scenarios/restart.js';
import { settlePoints } from './scenarios/settle-points.js';
import { short } from './scenarios/short.js';
import { slow } from './scenarios/slow.js';
import { takeover } from './scenarios/takeover.js';
import { upgrade } from './scenarios/upgrade.js';

/** The scenarios that seeds take turns with, in this order. */
const rounds = [
  ...[kill, recordPoints, settlePoints, restart, slow, connections, cuts, failover, diskFull],
  ...[takeover, late, clocks, upgrade, receivers, names, certificates, overload, move, pauses],
];

/** Every scenario. */
export const scenarios = [...rounds, short];

const trialsPerSeed = 3;

/** Returns the scenarios of a seed. Successive seeds take turns, so that seven seeds cover all. */
export function scenariosOf(seed) {
  return Array.from(
    { length: trialsPerSeed },
    (_, index) => rounds[((seed - 1) * trialsPerSeed + index) % rounds.length],
  );
}
