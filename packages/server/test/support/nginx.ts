import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterFile } from './cleanup.js';
import { sendRequest } from './client.js';
import { freePort } from './snippets.js';
import { eventually } from './tenant.js';

/** Whether nginx is there. Tests that need it say so if it is not. */
export const hasNginx = spawnSync('nginx', ['-v']).status === 0;

const configuration = new URL('../../../../deploy/nginx/cells.conf', import.meta.url);

/** Starts nginx with the configuration in deploy/nginx, for cells at these addresses. Returns its address. */
export async function startNginx(cells: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-nginx-'));
  // As root, nginx gives its workers to another user, who has to reach the temporary files.
  await chmod(directory, 0o755);
  const port = await freePort();
  let text = (await readFile(configuration, 'utf8')).replace('listen 8080;', `listen 127.0.0.1:${port};`);
  for (const [name, url] of Object.entries(cells))
    text = text.replace(`server ${name}.internal:7400;`, `server ${new URL(url).host};`);
  await writeFile(join(directory, 'cells.conf'), text);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/${name};`,
  );
  await writeFile(
    join(directory, 'nginx.conf'),
    `daemon off; pid ${directory}/pid; error_log ${directory}/error.log; events {}
     http { access_log off; ${places.join(' ')} include ${directory}/cells.conf; }`,
  );
  const child = spawn('nginx', ['-p', directory, '-c', join(directory, 'nginx.conf')], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  afterFile(async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(directory, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(
    () =>
      sendRequest(`${url}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  );
  return url;
}
