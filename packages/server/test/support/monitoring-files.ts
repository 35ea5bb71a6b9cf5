import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const place = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));

export const rulesFile = place('deploy/prometheus/alerts.yml');
export const ruleTestsFile = place('deploy/prometheus/alerts.test.yml');
const dashboardFile = place('deploy/grafana/dashboards/posthorn.json');
export const operatePage = readFileSync(place('docs/operate.md'), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  annotations: { runbook: string };
}

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}

export const alerts: Rule[] = parse(readFileSync(rulesFile, 'utf8')).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
);
const dashboard: Dashboard = JSON.parse(readFileSync(dashboardFile, 'utf8'));

/** The queries of the dashboard with the panel that shows them. Grafana replaces the interval; so do we. */
export const panelQueries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr.replaceAll('$__rate_interval', '1m')] as const),
);

/** The metrics that a text names, without the endings that a histogram adds. */
export function metricsIn(text: string): string[] {
  const names = text.match(/\b(?:posthorn|nodejs|process)_[a-z0-9_]+[a-z0-9]\b/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))].sort();
}
