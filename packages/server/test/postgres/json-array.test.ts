import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonArray } from '../../src/postgres/arrays.js';
import { anyCharacter } from '../support/any-character.js';
import { freshDatabase } from '../support/database.js';

const { database } = await freshDatabase();

test('JSON texts reach PostgreSQL byte for byte, whatever they contain', async () => {
  const text = fc.json({ stringUnit: anyCharacter }).filter((json) => !/\\u0000|\\ud[89a-f]/i.test(json));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 20 }), async (texts) => {
      const { rows } = await database.query<{ text: string }>({
        text: 'select e::text as text from unnest($1::json[]) with ordinality as u (e, place) order by place',
        values: [jsonArray(texts)],
      });
      expect(rows.map((row) => row.text)).toEqual(texts);
    }),
    { numRuns: 50 },
  );
});
