import { type SettingName, settings } from '../config.js';
import type { Command } from './command.js';

export function usageLine(command: Command): string {
  const required = Object.entries(command.options)
    .filter(([, option]) => option.required)
    .map(([name, option]) => `--${name} ${option.value}`);
  const argument = command.argument ? [`<${command.argument.name}>`] : [];
  return ['posthorn', command.name, ...argument, ...required, '[options]'].join(' ');
}

export function commandHelp(command: Command): string {
  const lines = [command.summary, '', `Usage: ${usageLine(command)}`, ''];
  if (command.argument)
    lines.push(...columns([[`<${command.argument.name}>`, command.argument.description]]), '');
  const options = Object.entries(command.options).map(([name, option]): [string, string] => {
    const fallback = option.fallback ? ` Default: ${option.fallback}.` : '';
    return [option.value ? `--${name} ${option.value}` : `--${name}`, option.description + fallback];
  });
  lines.push('Options:', ...columns([...options, ['--help', 'Show this help.']]));
  const fallbacks = fallbackRows(command);
  if (fallbacks.length > 0) lines.push('', 'Default settings for this command:', ...columns(fallbacks));
  if (command.showsSettings) lines.push('', 'Settings (environment variables):', ...columns(settingRows()));
  return lines.join('\n');
}

/** Lists the settings for which the command has its own defaults, with these defaults. */
export function fallbackRows({ fallbacks = {} }: Command): [string, string][] {
  return Object.entries(fallbacks).map(([name, text]) => [settings[name as SettingName].env, text]);
}

export function overview(commands: readonly Command[], version: string): string {
  return [
    `posthorn ${version}: event stream and webhooks for an operations platform`,
    '',
    'Usage: posthorn <command> [options]',
    '',
    'Commands:',
    ...columns(commands.map((command) => [command.name, command.summary])),
    '',
    'Run posthorn <command> --help for details. Exit codes: 0 success, 1 failure, 2 usage error.',
  ].join('\n');
}

function settingRows(): [string, string][] {
  return Object.values(settings).map((setting) => {
    const fallback = setting.fallbackNote ?? setting.fallback ?? 'none';
    return [setting.env, `${setting.description} Default: ${fallback}.`.replaceAll('`', '')];
  });
}

const lineWidth = 100;

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + 4;
  return rows.flatMap(([left, right]) => {
    const wrapped = wrap(right, lineWidth - width);
    return wrapped.map((line, index) => `${(index === 0 ? `  ${left}` : '').padEnd(width)}${line}`);
  });
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
