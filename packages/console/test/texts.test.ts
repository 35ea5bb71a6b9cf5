import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  isCallExpression,
  isIdentifier,
  isJsxAttribute,
  isJsxElement,
  isJsxText,
  isNoSubstitutionTemplateLiteral,
  isStringLiteral,
  isTaggedTemplateExpression,
  type Node,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
const dictionary = `${root}src/text/german.json`;

/** Returns what is looked up in a dictionary: texts with the tags `t` and `rich`, and both texts of `plural`. */
function keysIn(node: Node): string[] {
  const keys: string[] = [];
  if (isTaggedTemplateExpression(node) && ['t', 'rich'].includes(node.tag.getText())) {
    const { template } = node;
    if (isNoSubstitutionTemplateLiteral(template)) keys.push(template.text);
    else
      keys.push(
        template.templateSpans.reduce(
          (key, { literal }, index) => `${key}{${index}}${literal.text}`,
          template.head.text,
        ),
      );
  }
  if (isCallExpression(node) && isIdentifier(node.expression) && node.expression.text === 'plural')
    for (const text of node.arguments.slice(1, 3)) {
      if (!isStringLiteral(text)) throw new Error(`write both texts of plural() out: ${node.getText()}`);
      keys.push(text.text);
    }
  node.forEachChild((child) => void keys.push(...keysIn(child)));
  return keys;
}

const isWords = (text: string) => /\p{L}{2}/u.test(text.replace(/&\w+;/g, ''));
const verbatim = ['code', 'pre', 'kbd'];
const spoken = ['alt', 'aria-label', 'hint', 'label', 'title'];

/** Returns what users read in elements and their attributes without a tag, but for what is the same in all languages. */
function untaggedIn(node: Node): string[] {
  if (isJsxElement(node) && verbatim.includes(node.openingElement.tagName.getText())) return [];
  if (isJsxText(node)) return isWords(node.text) ? [node.text.trim()] : [];
  const isSpoken = isJsxAttribute(node) && spoken.includes(node.name.getText());
  const value = isSpoken ? node.initializer : undefined;
  if (value && isStringLiteral(value)) return isWords(value.text) ? [value.text] : [];
  const texts: string[] = [];
  node.forEachChild((child) => void texts.push(...untaggedIn(child)));
  return texts;
}

function fromSource(collect: (node: Node) => string[]): string[] {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${root}tsconfig.json`] }).getProjects();
    const files = project!.program.getSourceFileNames().filter((name) => name.startsWith(`${root}src/`));
    return [...new Set(files.flatMap((name) => collect(project!.program.getSourceFile(name)!)))].sort();
  } finally {
    api.close();
  }
}

const placeholdersIn = (text: string) => (text.match(/\{\d\}/g) ?? []).sort();

test('every text of the console has a German one with the same values, and no German text is left over', () => {
  const keys = fromSource(keysIn);
  let german: Record<string, string> = JSON.parse(readFileSync(dictionary, 'utf8'));
  if (process.env.UPDATE_TEXTS) {
    german = Object.fromEntries(keys.map((key) => [key, german[key] ?? '']));
    writeFileSync(dictionary, `${JSON.stringify(german, null, 2)}\n`);
  }
  expect(keys).not.toEqual([]);
  expect(Object.keys(german).sort()).toEqual(keys);
  for (const key of keys) {
    expect(german[key], key).toBeTruthy();
    expect(placeholdersIn(german[key] ?? ''), key).toEqual(placeholdersIn(key));
  }
});

test('no text stands in an element without a tag', () => {
  expect(fromSource(untaggedIn)).toEqual([]);
});
