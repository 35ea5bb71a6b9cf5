import * as react from 'react/jsx-runtime';

/**
 * Makes the elements of the console, like React's own runtime, which the build replaces with this one. It is where the
 * texts can be separated from the code: with a dictionary, what the elements show is looked up by its English text. What
 * comes from the API, such as names, identifiers and diagnoses, is shown as it is.
 */
export const { Fragment } = react;

type Dictionary = Readonly<Record<string, string>>;
type Props = Record<string, unknown>;

let dictionary: Dictionary | undefined;

export function speak(texts: Dictionary): void {
  dictionary = texts;
}

const number = /\d[\d.,]*\+?/g;

/** Returns a text in the other language. Each number in it stands for any. */
function said(text: string): string {
  const [, before = '', plain = '', after = ''] = /^(\s*)([\s\S]*?)(\s*)$/.exec(text) ?? [];
  const numbers = plain.match(number) ?? [];
  const other = dictionary?.[plain] ?? dictionary?.[plain.replaceAll(number, '{}')];
  if (other === undefined) return text;
  return before + other.replaceAll('{}', () => numbers.shift() ?? '') + after;
}

const spoken = ['children', 'aria-label', 'title', 'placeholder'] as const;
/** Elements that show what comes from the API. */
const data = /\b(mono|row-link|strong|organization|code)\b/;

function inLanguage(type: unknown, props: Props): Props {
  const isData = type === 'code' || type === 'pre' || data.test(String(props.className ?? ''));
  if (!dictionary || (typeof type !== 'string' && type !== Fragment) || isData) return props;
  const own = spoken.flatMap((name): [string, unknown][] => {
    const value = props[name];
    if (typeof value === 'string') return [[name, said(value)]];
    const isList = name === 'children' && Array.isArray(value);
    return isList ? [[name, value.map((one) => (typeof one === 'string' ? said(one) : one))]] : [];
  });
  return { ...props, ...Object.fromEntries(own) };
}

export const jsx: typeof react.jsx = (type, props, key) =>
  react.jsx(type, inLanguage(type, props as Props), key);
export const jsxs: typeof react.jsxs = (type, props, key) =>
  react.jsxs(type, inLanguage(type, props as Props), key);
