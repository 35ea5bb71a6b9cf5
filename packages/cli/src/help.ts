import { type Command, type Option, usageLine } from './command.js';

const widthMax = 100;

export function commandHelp(command: Command, width: number): string {
  const { summary, argument, options, sections } = command;
  const lines = [...wrap(summary, Math.min(width, widthMax)), '', `Usage: ${usageLine(command)}`, ''];
  const named = argument ? [[`<${argument.name}>`, argument.description] as const] : [];
  if (named.length > 0) lines.push(...rows(named, width), '');
  const byGroup = new Map<string, [string, string][]>([['Options', []]]);
  for (const [name, option] of Object.entries(options)) {
    const title = option.group ?? 'Options';
    byGroup.set(title, [...(byGroup.get(title) ?? []), optionRow(name, option)]);
  }
  byGroup.get('Options')?.push(['--help', 'Show this help.']);
  for (const [title, group] of byGroup) lines.push(`${title}:`, ...rows(group, width), '');
  for (const { title, rows: further } of sections?.() ?? [])
    lines.push(`${title}:`, ...rows(further, width), '');
  return lines.slice(0, -1).join('\n');
}

function optionRow(name: string, { value, description, fallback }: Option): [string, string] {
  const flag = value === undefined ? `--${name}` : `--${name} ${value}`;
  return [flag, fallback === undefined ? description : `${description} Default: ${fallback}.`];
}

/** Titles and the commands below them, as the overview lists them. */
export type Overview = readonly { title: string; commands: readonly Pick<Command, 'name' | 'summary'>[] }[];

export function overview(groups: Overview, version: string, width: number): string {
  const column = Math.max(...groups.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  return [
    `posthorn ${version}: webhooks and an event stream for your platform`,
    '',
    'Usage: posthorn <command> [options]',
    ...groups.flatMap(({ title, commands }) => [
      '',
      `${title}:`,
      ...rows(commands.map(rowOf), width, column),
    ]),
    '',
    'Run posthorn <command> --help for details. Exit codes: 0 success, 1 failure, 2 usage error.',
  ].join('\n');
}

/** Returns the help of a group such as `posthorn webhooks`. */
export function groupHelp(commands: readonly Command[], group: string, width: number): string {
  const members = commands.filter(({ name }) => name.startsWith(`${group} `));
  return [
    `Usage: posthorn ${group} <command> [options]`,
    '',
    ...rows(members.map(rowOf), width),
    '',
    `Run posthorn ${group} <command> --help for details.`,
  ].join('\n');
}

const rowOf = ({ name, summary }: Pick<Command, 'name' | 'summary'>) => [name, summary] as const;

function rows(
  pairs: readonly (readonly [string, string])[],
  width: number,
  column = Math.max(...pairs.map(([left]) => left.length)),
): string[] {
  const indent = column + 4;
  return pairs.flatMap(([left, right]) =>
    wrap(right, Math.min(width, widthMax) - indent).map(
      (line, index) => `${(index === 0 ? `  ${left}` : '').padEnd(indent)}${line}`,
    ),
  );
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
