import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { afterFile } from '../test/support/cleanup.js';
import { readDocument } from '../test/support/operations.js';
import { platformToken, startTestService } from '../test/support/service.js';
import { newTenant } from '../test/support/tenant.js';

/** How to get a tool, and to make a client from `openapi.json` in a directory of its own. All are shell scripts. */
interface Generator {
  version: string;
  /** Writes the client. */
  generate: string;
  /** The place of the program in `clients` that calls it. */
  program: string;
  compile: string;
  call: string;
}

const tools = join(homedir(), '.cache', 'posthorn-tools');
const modules = fileURLToPath(new URL('node_modules', import.meta.url));
const programs = new URL('clients/', import.meta.url);

/** Gets the newest version of each tool. */
const install = `
mkdir -p '${tools}' && cd '${tools}'
GOBIN='${tools}/bin' go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@latest
mvn -q -U dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:LATEST -Dmdep.stripVersion=true \\
  -Dmdep.overWriteReleases=true -DoutputDirectory=.
test -d venv || python3 -m venv venv
venv/bin/pip install --quiet --upgrade openapi-python-client`;

const openapiGenerator = (name: string) => ({
  version: `java -jar '${tools}/openapi-generator-cli.jar' version`,
  generate: `java -jar '${tools}/openapi-generator-cli.jar' generate -g ${name} -i openapi.json -o api`,
});

const generators: Record<string, Generator> = {
  'oapi-codegen': {
    version: 'oapi-codegen --version | tail -1',
    generate: 'mkdir api && oapi-codegen -package api -o api/api.go openapi.json',
    program: 'main.go',
    compile: 'go mod init clients && go mod tidy && go vet ./... && go build -o program .',
    call: './program',
  },
  go: {
    ...openapiGenerator('go'),
    program: 'api/program/main.go',
    compile: 'cd api && go mod tidy && go vet . ./program && go build -o ../run ./program',
    call: './run',
  },
  java: {
    ...openapiGenerator('java'),
    program: 'api/src/main/java/Program.java',
    compile: 'cd api && mvn -q compile dependency:build-classpath -Dmdep.outputFile=classpath',
    call: 'java -cp "api/target/classes:$(cat api/classpath)" Program',
  },
  'typescript-fetch': {
    ...openapiGenerator('typescript-fetch'),
    program: 'program.ts',
    compile: `ln -s '${modules}' node_modules && echo '{"type":"module"}' >package.json
node_modules/.bin/tsc program.ts --outDir out --strict --target es2022 --module preserve --lib es2022,dom
'${fileURLToPath(new URL('../../../node_modules/.bin/vite', import.meta.url))}' build --ssr out/program.js --outDir bundle`,
    call: 'node bundle/program.js',
  },
  python: {
    ...openapiGenerator('python'),
    program: 'program.py',
    compile: 'pip install --quiet -r api/requirements.txt && python -m compileall -q api',
    call: 'PYTHONPATH=api python program.py',
  },
  'openapi-python-client': {
    version: "openapi-python-client --version | sed 's/.* //'",
    generate: 'openapi-python-client generate --path openapi.json --output-path api',
    program: 'program.py',
    compile: 'python -m compileall -q api',
    call: 'PYTHONPATH=api python program.py',
  },
};

const execute = promisify(execFile);

/** Runs a script, which must succeed. Returns what it printed. */
async function shell(script: string, cwd: string, more: Record<string, string> = {}): Promise<string> {
  const PATH = [join(tools, 'bin'), join(tools, 'venv', 'bin'), process.env.PATH].join(':');
  const options = { cwd, env: { ...process.env, PATH, ...more }, maxBuffer: 2 ** 26 };
  return execute('bash', ['-euo', 'pipefail', '-c', script], options).then(
    ({ stdout }) => stdout.trim(),
    ({ message, stdout }) => Promise.reject(new Error(`${message}\n${stdout}`)),
  );
}

const service = await startTestService();
const directory = await mkdtemp(join(tmpdir(), 'posthorn-clients-'));
afterFile(() => rm(directory, { recursive: true, force: true }));
const listeners = { public: service.publicUrl, platform: service.platformUrl };
const rows: Record<string, string>[] = [];
afterAll(() => console.table(rows));
beforeAll(async () => {
  await shell(install, directory);
}, 600_000);

describe.each(Object.keys(generators))('%s', (name) => {
  const { version, generate, program, compile, call } = generators[name]!;

  it.each(Object.keys(listeners) as (keyof typeof listeners)[])(
    'makes a client of the %s listener that compiles and works',
    async (listener) => {
      const place = join(directory, `${name}-${listener}`);
      const row: Record<string, string> = { generator: name, listener };
      rows.push(row);
      const step = async (title: string, script: string, env?: Record<string, string>) => {
        row[title] = 'failed';
        const printed = await shell(script, place, env);
        row[title] = title === 'version' || title === 'called' ? printed : 'ok';
        console.log(`${name}, ${listener}: ${title} ${row[title]}`);
      };
      await mkdir(place);
      await writeFile(join(place, 'openapi.json'), JSON.stringify(await readDocument(listeners[listener])));
      await step('version', version);
      await step('generated', generate);
      const source = new URL(`${name}.${listener}${/\.\w+$/.exec(program)![0]}`, programs);
      await cp(source, join(place, program));
      await step('compiled', compile);
      const tenant = await newTenant(service);
      const { receiver, webhook } = await tenant.connect();
      const recorded = await tenant.record();
      const [delivery] = await tenant.settled(webhook);
      await step('called', call, {
        ...{ API_URL: listeners[listener], ORGANIZATION: tenant.organization, RECEIVER: receiver.url },
        ...{ WEBHOOK: webhook.id, DELIVERY: delivery.id },
        TOKEN: listener === 'public' ? tenant.token : platformToken,
      });
      if (listener === 'public') expect(row.called).toBe(`${recorded.id} ${webhook.id} active success`);
      else expect((await tenant.events()).map(({ id }) => id)).toEqual([row.called, recorded.id]);
    },
    600_000,
  );
});
