// Cuts the guides of the API reference out of docs into assets/guides.json. In a guide, `<!-- value: … -->` marks what
// depends on the settings of a service. Bundles the command line into assets/posthorn.mjs, one file that needs only Node.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const docs = new URL('../../docs/', import.meta.url);
const guides = {};

for (const page of readdirSync(docs).filter((name) => name.endsWith('.md'))) {
  const text = readFileSync(new URL(page, docs), 'utf8');
  for (const [, name, part] of text.matchAll(/<!-- guide: (.+) -->\n([\s\S]*?)<!-- end of guide -->/g))
    guides[name] = [guides[name], asGuide(part)].filter(Boolean).join('\n\n');
}
writeFileSync(new URL('assets/guides.json', import.meta.url), JSON.stringify(guides, null, 2));

const cli = fileURLToPath(new URL('../cli/', import.meta.url));
const { version } = JSON.parse(readFileSync(`${cli}package.json`, 'utf8'));
const sources = {
  posthorn: `#!/usr/bin/env node
import { main } from '${cli}dist/main.js';
process.exitCode = await main(process.argv.slice(2), process.env);`,
  [`${cli}dist/version.js`]: `export const version = '${version}';`,
};
const bundle = await rolldown({
  input: 'posthorn',
  platform: 'node',
  plugins: [
    {
      name: 'sources',
      resolveId: (id) => (id === 'posthorn' ? id : null),
      load: (id) => sources[id] ?? null,
    },
  ],
});
const [{ code, moduleIds }] = (await bundle.generate({ codeSplitting: false, minify: true })).output;
await bundle.close();
writeFileSync(
  new URL('assets/posthorn.mjs', import.meta.url),
  `${code}\n${licensesOf(moduleIds).join('\n')}\n`,
);

/** Returns the licenses of the packages that modules belong to, as comments. */
function licensesOf(modules) {
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(id)?.[0]);
  return [...new Set(folders.filter(Boolean))].sort().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    return `/* ${name} ${version}\n${file ? readFileSync(folder + file, 'utf8').trim() : ''}\n*/`;
  });
}

/** Returns a part of a page as the reference shows it, outside its code with one line for each paragraph. */
function asGuide(part) {
  return part
    .replaceAll(/<!-- value: (.+) -->[\s\S]*?<!-- end of value -->/g, '{{$1}}')
    .split(/(^```[\s\S]*?^```$)/m)
    .map((text) => (text.startsWith('```') ? text : withoutPages(text)))
    .join('')
    .trim();
}

/** Returns the text without links to other pages, which the reference does not have. */
function withoutPages(text) {
  return text
    .replaceAll(/\[([^\]]+)\]\((?!https:)[^)]*\)/g, '$1')
    .replaceAll(/^## /gm, '### ')
    .replaceAll(/(?<=[^\n|])\n *(?![-|#]|\d+\. )(?=\S)/g, ' ');
}
