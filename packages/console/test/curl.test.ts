import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { curlOfRequest } from '../src/code/curl.js';

/** What a shell makes of a command, with curl replaced by a program that prints its arguments. */
function argumentsOf(command: string): string[] {
  const printed = execFileSync('sh', [
    '-c',
    `curl() { for a in "$@"; do printf '%s\\0' "$a"; done; }\n${command}`,
  ]);
  return printed.toString().split('\0').slice(0, -1);
}

test('a copied curl command sends what the console shows, whatever is in it', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
  fc.assert(
    fc.property(text, text, (value, body) => {
      const url = 'https://example.com/hook?a=1&b=$(id)';
      const command = curlOfRequest({ url, headers: { 'X-Own': value, Host: 'left.out' }, body });
      expect(argumentsOf(command)).toEqual([url, '-H', `X-Own: ${value}`, '--data-binary', body]);
    }),
    { numRuns: 30 },
  );
});
