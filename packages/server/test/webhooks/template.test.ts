import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExact } from '../../src/values/exact-json.js';
import { renderTemplate, type Template, templateFaults } from '../../src/webhooks/template.js';
import { anyCharacter } from '../support/any-character.js';

const render = (template: Template, event: string) => renderTemplate(template, parseExact(event));

describe('a template', () => {
  const event = `{"type":"a.b","payload":{"n":1.50,"big":12345678901234567890,"s":"x\\"y","list":[{"a":true},null],
    "o":{"b":1e3,"a":"z"},"empty":null,"__proto__":"own"}}`;
  const table: [template: unknown, rendered: string][] = [
    ['{{payload.n}}', '1.50'],
    ['{{ payload.big }}', '12345678901234567890'],
    ['{{payload.s}}', '"x\\"y"'],
    ['{{payload.list.0.a}}', 'true'],
    ['{{payload.list}}', '[{"a":true},null]'],
    ['{{payload.o}}', '{"b":1e3,"a":"z"}'],
    ['{{payload.empty}}', 'null'],
    [
      'n={{payload.n}} s={{payload.s}} l={{payload.list}} e={{payload.empty}} m={{payload.none}}.',
      '"n=1.50 s=x\\"y l=[{\\"a\\":true},null] e= m=."',
    ],
    ['{{{{type}}', '"{{type}}"'],
    ['{{{{{{type}}', '"{{a.b"'],
    ['}} { }', '"}} { }"'],
    ['', '""'],
    ['{{payload.__proto__}}', '"own"'],
  ];
  test.each(table)('renders %s as %s', (template, rendered) => {
    expect(templateFaults([template])).toEqual([]);
    expect(render([template], event)).toBe(`[${rendered}]`);
  });

  const inherited = [
    '__proto__',
    'constructor',
    'toString',
    'length',
    'payload.list.length',
    'payload.list.00',
  ];
  test.each([...inherited, 'payload.list.-1', 'payload.list.2', 'payload.s.0', 'payload.n.toFixed', 'none'])(
    'finds nothing at %s',
    (path) => expect(render([`{{${path}}}`], event)).toBe('[null]'),
  );

  test('never replaces keys, and keeps values that are no strings', () => {
    const template = { '{{type}}': [1, false, null], __proto__x: {} };
    expect(render(template, event)).toBe(JSON.stringify(template));
  });

  test('does not put more than 8 MiB of values into a body', () => {
    const large = JSON.stringify({ payload: 'x'.repeat(5 * 1024 * 1024) });
    const [first, ...others] = JSON.parse(render(Array(500).fill('{{payload}}'), large));
    expect(first).toHaveLength(5 * 1024 * 1024);
    expect(others.every((other: unknown) => other === null)).toBe(true);
  });

  const json = fc.jsonValue({ stringUnit: anyCharacter, maxDepth: 4 });
  test('keeps any value and its type where a string is one placeholder', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = JSON.stringify({ payload: [value] });
        expect(render(['{{payload.0}}'], text)).toBe(`[${JSON.stringify(value)}]`);
      }),
    );
  });

  test('is valid JSON whatever the event has, and returns text without braces as it is', () => {
    const template = fc.jsonValue({ stringUnit: anyCharacter.filter((one) => one !== '{') });
    fc.assert(
      fc.property(template, json, (body, payload) => {
        const rendered = render([body, 'a{{payload}}b'], JSON.stringify({ payload }));
        expect(JSON.parse(rendered)[0]).toEqual(JSON.parse(JSON.stringify(body)));
        expect(JSON.parse(rendered)[1]).toBe(`a${textOf(payload)}b`);
      }),
    );
  });
  const textOf = (value: unknown) =>
    value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

  const nested = (levels: number): Template => (levels === 1 ? [1] : [nested(levels - 1)]);
  const wrong: [template: Template, pointers: string[]][] = [
    [
      ['{{', 'a {{b', '{{}}', '{{ }}', '{{a..b}}', '{{.a}}', '{{{type}}}', '{{a{b}}'],
      ['0', '1', '2', '3', '4', '5', '6', '7'].map((at) => `/${at}`),
    ],
    [{ 'a/b': { '~': [`{{${'a.'.repeat(10)}a}}`] } }, ['/a~1b/~0/0']],
    [['\u0000'], ['/0']],
    [nested(11), ['/0/0/0/0/0/0/0/0/0/0']],
    [['x'.repeat(16_384)], ['']],
  ];
  test.each(wrong)('names every fault of %j', (template, pointers) => {
    expect(templateFaults(template).map(({ pointer }) => pointer)).toEqual(pointers);
  });
  test('has at most 10 levels and 10 names in a path', () => {
    expect(templateFaults([nested(9), `{{${'a.'.repeat(9)}a}}`])).toEqual([]);
  });
});
