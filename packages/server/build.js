// Cuts the guides of the API reference out of docs into assets/guides.json. In a guide, `<!-- value: … -->` marks what
// depends on the settings of a service.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const docs = new URL('../../docs/', import.meta.url);
const guides = {};

for (const page of readdirSync(docs).filter((name) => name.endsWith('.md'))) {
  const text = readFileSync(new URL(page, docs), 'utf8');
  for (const [, name, part] of text.matchAll(/<!-- guide: (.+) -->\n([\s\S]*?)<!-- end of guide -->/g))
    guides[name] = [guides[name], asGuide(part)].filter(Boolean).join('\n\n');
}
writeFileSync(new URL('assets/guides.json', import.meta.url), JSON.stringify(guides, null, 2));

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
