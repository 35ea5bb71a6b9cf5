import { shellWord, type Terminal } from 'posthorn';
import type { Database } from '../postgres/database.js';
import type { Config } from '../settings/config.js';
import { demoOrganization, demoTokenFile, prepareDemo } from './demo-data.js';

export interface Welcoming {
  publicUrl: string | undefined;
  platformUrl: string | undefined;
  consoleLink: ((token?: string) => string) | undefined;
  database: Database;
}

/**
 * Prints what a new user needs first: the addresses, a token, and a command to paste. The token itself is shown only in
 * a terminal, because other output may be stored.
 */
export async function welcome(service: Welcoming, config: Config, terminal: Terminal): Promise<void> {
  const { publicUrl, platformUrl, consoleLink, database } = service;
  const token = await prepareDemo(database, config, Date.now());
  const shown = terminal.isInteractive ? token : undefined;
  const tokenFile = `${config.dataDir}/${demoTokenFile}`;
  const bold = (text: string) => terminal.paint('bold', text);
  const row = (name: string, value: string) => terminal.line(`  ${name.padEnd(20)}${value}`);
  terminal.line();
  terminal.line(bold('Posthorn is ready.'));
  if (consoleLink) row('Console', bold(consoleLink(shown)));
  if (publicUrl) row('API', publicUrl);
  if (publicUrl) row('API reference', `${publicUrl}/docs`);
  if (platformUrl) row('Platform listener', `${platformUrl}  (token: ${config.dataDir}/platform-token)`);
  row('Demo organization', demoOrganization);
  row('Demo token', shown ?? `in ${tokenFile}`);
  if (publicUrl) {
    const authorization = `"Authorization: Bearer $(cat ${shellWord(tokenFile)})"`;
    terminal.line();
    terminal.line('List the latest events:');
    terminal.line();
    terminal.line(
      bold(`  curl -H ${authorization} '${publicUrl}/v1/events?organization_id=${demoOrganization}&limit=3'`),
    );
  }
  terminal.line();
}
