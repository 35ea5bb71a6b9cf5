import { Fragment, type ReactNode } from 'react';
import { embedding } from '../browser/embedding';

/** The language of the console: English, unless the link asks for another one. */
export const language = embedding.lang ?? 'en';

/** The texts of the language, by the English ones, which stand in the code. Loaded before anything else runs. */
const dictionary: Readonly<Record<string, string>> =
  language === 'de' ? (await import('./german.json')).default : {};

/** The tag for each text that users read: t`${count} waiting` is `{0} waiting` in a dictionary. */
export function t(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return textOf(keyOf(parts), values);
}

/** The same for a text with elements in it, such as links and times. */
export function rich(parts: TemplateStringsArray, ...values: ReactNode[]): ReactNode {
  const key = keyOf(parts);
  return (dictionary[key] ?? key).split(placeholder).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places
    index % 2 === 0 ? part : <Fragment key={index}>{shown(values[Number(part)])}</Fragment>,
  );
}

/** One of two texts. The number is their `{0}`, and the other values are `{1}` and so on. */
export function plural(value: number, one: string, many: string, ...values: (string | number)[]): string {
  return textOf(value === 1 ? one : many, [value, ...values]);
}

const placeholder = /\{(\d)\}/;

const keyOf = (parts: TemplateStringsArray) =>
  parts.reduce((key, part, index) => `${key}{${index - 1}}${part}`);

const textOf = (key: string, values: readonly (string | number)[]) =>
  (dictionary[key] ?? key).replace(new RegExp(placeholder, 'g'), (_, index) => String(shown(values[index])));

export const numbers = new Intl.NumberFormat(language);

const shown = (value: ReactNode) => (typeof value === 'number' ? numbers.format(value) : value);
