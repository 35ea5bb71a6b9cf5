import { createHash, randomBytes } from 'node:crypto';

/**
 * Creates an access token for each organization by copying one that the service created. This way, every column has a
 * valid value, whatever columns the table has. Returns pairs of organization and token.
 */
export async function addTokens(database, organizations) {
  const made = organizations.map((name, index) => {
    const text = `pht_${randomBytes(32).toString('base64url')}`;
    const hash = createHash('sha256').update(text).digest('hex');
    return { name, text, row: { organization_id: name, id: `TOK-bench-${index}`, hash: `\\x${hash}` } };
  });
  await database.query(
    `insert into posthorn.tokens
     select (jsonb_populate_record(known, given)).*
       from (select t as known from posthorn.tokens t limit 1) k, jsonb_array_elements($1::jsonb) given`,
    [JSON.stringify(made.map(({ row }) => row))],
  );
  return made.map(({ name, text }) => [name, text]);
}
