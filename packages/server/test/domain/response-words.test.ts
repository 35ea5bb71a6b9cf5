import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wordsOf } from '../../src/domain/response-words.js';
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
  ])('%s', (_what, response, words) => {
    expect(wordsOf(response).text).toBe(words);
  });
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
