import fc from 'fast-check';

/**
 * Any character of Unicode, as the unit of a string. For its own unit 'binary', fast-check makes a map of all characters
 * that there are, which takes 1.4 s of CPU.
 */
export const anyCharacter = fc
  .oneof(
    fc.integer({ min: 0, max: 0xff }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((code) => String.fromCodePoint(code));
