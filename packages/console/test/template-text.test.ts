import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { templateFaults } from '../../server/src/webhooks/template.js';
import { canName, insertion, startNames, startOf } from '../src/webhook-editors/template-text.js';

const path = fc.array(fc.oneof(fc.string({ minLength: 1 }), fc.nat(20)), { minLength: 1, maxLength: 10 });
const inserted = (text: string, at: number, value: readonly (string | number)[]) => {
  const { start, end, text: added } = insertion(text, [at, at], value);
  return text.slice(0, start) + added + text.slice(end);
};

describe('a template that is made by clicking', () => {
  it('is one that the service takes, whatever its receiver and wherever the cursor is', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...startNames),
        fc.object(),
        path,
        fc.nat(),
        (name, payload, value, cursor) => {
          fc.pre(canName(value));
          const text = startOf(name, { payload });
          const at = cursor % (text.length + 1);
          fc.pre(text[at - 1] !== '\\');
          const made = inserted(text, at, value);
          expect(JSON.stringify(JSON.parse(made))).toContain(
            JSON.stringify(`{{${value.join('.')}}}`).slice(1, -1),
          );
          expect(templateFaults(JSON.parse(made))).toEqual([]);
        },
      ),
    );
  });

  it('gets a field for each value that is clicked, and none twice', () => {
    let text = '';
    expect(insertion('{"a": "{{type}} {{id}}"}', [9, 13], ['subject', 'id'])).toEqual({
      start: 7,
      end: 15,
      text: '{{subject.id}}',
    });
    for (const value of [
      ['id'],
      ['subject', 'id'],
      ['payload', 'id'],
      ['payload', 'id'],
      ['payload', 'lines', 0, 'id'],
    ])
      text = inserted(text, text.length, value);
    expect(JSON.parse(text)).toEqual({
      id: '{{id}}',
      subject_id: '{{subject.id}}',
      payload_id: '{{payload.id}}',
      '0_id': '{{payload.lines.0.id}}',
    });
  });
});
