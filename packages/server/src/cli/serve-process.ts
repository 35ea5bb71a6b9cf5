import { CommandFailure } from 'posthorn';
import { Member } from '../processes/member.js';
import type { Figures, Start } from '../processes/messages.js';
import { startService } from '../service.js';
import type { Config } from '../settings/config.js';
import { useHeapSparingly } from './heap.js';
import { createLogger } from './log.js';
import { failureOf, type OperatorContext } from './operator.js';

/** Longer than the engine takes to drain, and shorter than the time after which the supervisor kills this process. */
export const drainMsMax = 9_400;

/** Runs one of several processes, under a supervisor. */
export async function serveAsProcess({ config, env, terminal }: OperatorContext): Promise<void> {
  const member = new Member();
  const start = await member.start;
  const logger = createLogger(config, terminal, start.process);
  const service = await startService(configOf(config, start), logger, Date.now, env, {
    ...start,
    collectMetrics: () => member.collectMetrics(),
  }).catch((error) => fail(member, error));
  useHeapSparingly();
  const { registry } = service.metrics;
  member.ready(service, async () => (await registry.getMetricsAsJSON()) as Figures);
  const end = await Promise.race([member.stop, service.refused]);
  if (end instanceof Error) return fail(member, end);
  logger.info('stopping');
  if (end.gently) await service.withdraw();
  setTimeout(() => process.exit(0), drainMsMax).unref();
  await service.stop();
  logger.info('stopped');
  process.exit(0);
}

/** Ends this process. The supervisor reports why, unless it is a bug, which this process reports itself. */
async function fail(member: Member, error: unknown): Promise<never> {
  const failure = failureOf(error);
  if (!(failure instanceof CommandFailure)) throw error;
  await member.failed(failure.message);
  process.exit(failure.exitCode);
}

/** Returns the settings of one process. Only the first does maintenance, because the others would repeat it. */
function configOf(config: Config, { process }: Start): Config {
  if (process === 1) return config;
  return { ...config, roles: new Set([...config.roles].filter((role) => role !== 'maintenance')) };
}
