import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wordsOf } from '../../src/outcomes/response-words.js';
import { anyCharacter } from '../support/any-character.js';

describe('the words of a response are', () => {
  test.each<[string, string | null, string]>([
    ['none without a body', null, ''],
    ['none if it is empty', '  ', ''],
    ['plain text as it is, without the full stop', ' the disk is full.\n', 'the disk is full'],
    ['the message of a JSON body', '{"code":7,"message":"no such tenant"}', 'no such tenant'],
    [
      'the detail of a problem',
      '{"title":"Bad Request","detail":"The signature is missing."}',
      'The signature is missing',
    ],
    [
      'a message inside an error',
      '{"error":{"code":"E1","message":"quota \\"gold\\" used up"}}',
      'quota "gold" used up',
    ],
    ['the first of several errors', '{"errors":[{"message":"first"},{"message":"second"}]}', 'first'],
    ['a message before the body was cut off', '{"error":"bad \\"key\\"","trace":"at main.js', 'bad "key"'],
    ['a message that was cut off itself', '{"status":500,"message":"the queue is fu', 'the queue is fu'],
    ['JSON as it is if it has no message', '{"ok":false}', '{"ok":false}'],
    ['the title of a page', '<!doctype html><head><title>\n502 Bad  Gateway</title>', '502 Bad Gateway'],
    ['the heading if there is no title', '<html><body><h1>Oops &amp; sorry</h1>', 'Oops & sorry'],
    [
      'the first text if there is neither',
      '<html><style>p{color:red}</style><script>go()</script><!-- a --><body><p>Not&nbsp;now,</p> it&#39;s late&#x21;',
      "Not now, it's late!",
    ],
    ['none if a page has no text', '<html><body><img src="x', ''],
    ['text with its long runs shortened', `fatal ${'='.repeat(60)} no disk`, 'fatal ====… no disk'],
    ['the start of a run that is all there is', 'x'.repeat(1_024), 'xxxx…'],
    [
      'text in another encoding, as far as it can be read',
      'Acc\ufffds refus\ufffd',
      'Acc\ufffds refus\ufffd',
    ],
  ])('%s', (_what, response, words) => {
    expect(wordsOf(response).text).toBe(words);
  });
});

test.each([
  ['an image', Buffer.from('89504e470d0a1a0a0000000d49484452000001000000010008060000005c72a866', 'hex')],
  ['a compressed body', gzipSync('the disk is full')],
  ['zeros', Buffer.alloc(64)],
])('%s has no words: it is binary', (_what, bytes) => {
  // PostgreSQL cannot store a zero, so it is replaced before.
  const stored = bytes.toString('utf8').replaceAll('\0', '\ufffd');
  expect(wordsOf(stored)).toEqual({ text: '', isBinary: true, isPart: false });
});

test('any body, cut off anywhere, has words on one line', () => {
  const bodies = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.json(),
    fc.string({
      unit: fc.constantFrom(
        '<',
        '>',
        '&',
        '#',
        ';',
        'title',
        'script',
        '"',
        '{',
        'error',
        ':',
        ' ',
        '\n',
        '9',
      ),
    }),
  );
  fc.assert(
    fc.property(bodies, fc.nat(300), (body, length) => {
      expect(wordsOf(body.slice(0, length)).text).not.toMatch(/[\n\r]/);
    }),
  );
});
