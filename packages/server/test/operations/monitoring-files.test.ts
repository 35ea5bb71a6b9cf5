import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { afterFile } from '../support/cleanup.js';
import { sendRequest } from '../support/client.js';
import {
  alerts,
  metricsIn,
  operatePage,
  panelQueries,
  rulesFile,
  ruleTestsFile,
} from '../support/monitoring-files.js';
import { platformToken, startTestService, type TestService } from '../support/service.js';
import { freePort } from '../support/snippets.js';
import { eventually, newTenant } from '../support/tenant.js';

const promtool = spawnSync('promtool', ['--version']).status === 0;
const prometheus = spawnSync('prometheus', ['--version']).status === 0;
if (!promtool || !prometheus)
  console.warn('promtool or prometheus is not installed (Debian: prometheus): alert rules are not evaluated');

const service = await startTestService();
const metrics = (await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken })).text;
const exposed = [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);

/** Exposed only by a node that has several processes, or a read replica; `processes` and `read-replica` test them. */
const withProcessesOrReplica = [
  'posthorn_processes',
  'posthorn_process_crashes_total',
  'posthorn_event_reads_total',
  'posthorn_read_replica_used',
];

describe('the dashboard and the alert rules', () => {
  it.each([...panelQueries, ...alerts.map(({ alert, expr }) => [alert, expr] as const)])(
    '%s uses only metrics that the service exposes: %s',
    (_name, query) => {
      expect(exposed).toEqual(expect.arrayContaining(metricsIn(query)));
    },
  );

  it('show every metric of ours', () => {
    const shown = metricsIn([...panelQueries, ...alerts.map(({ expr }) => expr)].join(' '));
    expect(exposed.filter((name) => name?.startsWith('posthorn_') && !shown.includes(name))).toEqual([]);
  });
});

describe('docs/operate.md', () => {
  it('explains every metric of ours, and no other', () => {
    const explained = metricsIn(operatePage).filter(
      (name) => name.startsWith('posthorn_') && !withProcessesOrReplica.includes(name),
    );
    expect(explained).toEqual(exposed.filter((name) => name?.startsWith('posthorn_')).sort());
  });

  it.each(alerts.map(({ alert, annotations }) => [alert, annotations.runbook]))(
    'explains %s at %s',
    (alert, runbook) => {
      expect(runbook).toBe(`docs/operate.md#${alert.toLowerCase()}`);
      expect(operatePage).toContain(`\n#### ${alert}\n`);
    },
  );

  it('explains no alert that does not exist', () => {
    const explained = [...operatePage.matchAll(/^#### (Posthorn\w+)$/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });
});

describe.runIf(promtool)('promtool', () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      ...{ cwd: dirname(ruleTestsFile), encoding: 'utf8' },
    });
    return { status, text: `${stdout}${stderr}` };
  };

  it('accepts the rules', () => {
    expect(run('check', 'rules', rulesFile)).toMatchObject({ status: 0 });
  });

  it('sees each alert fire when it should, and none in normal operation', () => {
    expect(run('test', 'rules', ruleTestsFile)).toMatchObject({ status: 0 });
  });
});

describe.runIf(prometheus)('Prometheus', () => {
  let url = '';
  beforeAll(async () => {
    await deliverSomething(service);
    url = await startPrometheus(service);
  });

  const evaluate = async (query: string) => {
    const { status, body } = await sendRequest(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body.data.result as { value: [number, string] }[];
  };

  it.each(panelQueries)('has a value for "%s": %s', async (_title, query) => {
    // A busy machine may need more than a minute for all of these, and then nothing has happened in the last one.
    const overAnHour = query.replaceAll('[1m]', '[1h]');
    await eventually(
      () => evaluate(overAnHour),
      ([first]) => first !== undefined && !Number.isNaN(Number(first.value[1])),
    );
  });

  it.each(alerts.map(({ alert, expr }) => [alert, expr]))('evaluates %s: %s', async (_alert, query) => {
    expect(await evaluate(query)).toBeInstanceOf(Array);
  });

  it('reports no alert while everything works', async () => {
    const { body } = await sendRequest(`${url}/api/v1/alerts`);
    const critical = body.data.alerts.filter(
      ({ labels }: { labels: { severity: string } }) => labels.severity === 'critical',
    );
    expect(critical).toEqual([]);
  });
});

/** One delivery that succeeds, and one that fails and is retried later, so that every figure has a value. */
async function deliverSomething(service: TestService): Promise<void> {
  const tenant = await newTenant(service);
  const { webhook } = await tenant.connect((response, { envelope }) =>
    response.writeHead(envelope.type === 'invoice.paid' ? 200 : 500).end(),
  );
  await tenant.record({ type: 'invoice.paid' });
  await tenant.record({ type: 'invoice.voided' });
  await tenant.settled(webhook, 2);
}

/** Starts a Prometheus that scrapes the service, and waits until it has. Returns its address. */
async function startPrometheus({ platformUrl }: TestService): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-prometheus-'));
  const config = {
    global: { scrape_interval: '500ms', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    scrape_configs: [
      {
        ...{ job_name: 'posthorn', authorization: { credentials: platformToken } },
        static_configs: [{ targets: [new URL(platformUrl).host] }],
      },
    ],
  };
  const file = join(directory, 'prometheus.yml');
  await writeFile(file, JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [`--config.file=${file}`, `--storage.tsdb.path=${directory}/data`, `--web.listen-address=${address}`],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('close', resolve));
  afterFile(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(directory, { recursive: true, force: true });
  });
  const url = `http://${address}`;
  // The rate of a counter needs a second value that is higher than the first.
  const scrapes = encodeURIComponent('count_over_time(up[1m])');
  await eventually(
    () =>
      sendRequest(`${url}/api/v1/query?query=${scrapes}`).then(
        ({ body }) => body?.data.result[0]?.value[1] ?? 0,
        () => 0,
      ),
    (count) => Number(count) >= 2,
  );
  await deliverSomething(service);
  return url;
}
