/**
 * Bodies up to this size are searched for a single changed byte, which takes about a second: 200 digests per byte.
 * Each digest covers the whole body, so a body of twice the size takes four times as long.
 */
const searchedBytesMax = 1_024;

const tab = 9;
const likely = [tab, 10, 13, ...Array.from({ length: 95 }, (_, index) => 32 + index)];

/**
 * Returns how the ends of the body or of its lines were changed, in a sentence. `fits` returns whether a body matches
 * the signature.
 */
export function changeOfLines(body: Buffer, fits: (other: Buffer) => boolean): string | undefined {
  return variants(body).find(([other]) => fits(other))?.[1];
}

/** Returns whether `changeOfByte` searches this body. */
export const isSearched = (body: Buffer) => body.length <= searchedBytesMax;

/** Returns which single byte of the body was changed, added or removed, in a sentence. */
export function changeOfByte(body: Buffer, fits: (other: Buffer) => boolean): string | undefined {
  if (!isSearched(body)) return undefined;
  return replaced(body, fits) ?? added(body, fits) ?? removed(body, fits);
}

function variants(body: Buffer): [Buffer, string][] {
  const text = body.toString('latin1');
  const bytes = (other: string) => Buffer.from(other, 'latin1');
  return [
    [bytes(text.replace(/\s+$/, '')), 'White space was added at the end of the body.'],
    [bytes(`${text}\n`), 'A line break at the end of the body was removed.'],
    [bytes(text.replaceAll('\r\n', '\n')), 'The line breaks in the body were changed to CRLF.'],
    [bytes(text.replaceAll(/\r?\n/g, '\r\n')), 'The line breaks in the body were changed to LF.'],
    [bytes(text.replace(/^\u00ef\u00bb\u00bf/, '')), 'A byte order mark was added at the start of the body.'],
  ];
}

function replaced(body: Buffer, fits: (other: Buffer) => boolean): string | undefined {
  const other = Buffer.from(body);
  for (const [index, original] of body.entries()) {
    for (const byte of likely) {
      if (byte === original) continue;
      other[index] = byte;
      if (fits(other))
        return `One byte was changed: byte ${index + 1} is ${shown(original)}, but ${shown(byte)} was signed.`;
    }
    other[index] = original;
  }
  return undefined;
}

/** Looks for one byte that was added to the body. */
function added(body: Buffer, fits: (other: Buffer) => boolean): string | undefined {
  for (const [index, byte] of body.entries()) {
    const other = Buffer.concat([body.subarray(0, index), body.subarray(index + 1)]);
    if (fits(other)) return `One byte was added: byte ${index + 1}, ${shown(byte)}.`;
  }
  return undefined;
}

/** Looks for one byte that was removed from the body. */
function removed(body: Buffer, fits: (other: Buffer) => boolean): string | undefined {
  for (let index = 0; index <= body.length; index += 1) {
    const other = Buffer.concat([body.subarray(0, index), Buffer.from([0]), body.subarray(index)]);
    for (const byte of likely) {
      other[index] = byte;
      if (fits(other)) return `One byte was removed: ${shown(byte)} at byte ${index + 1}.`;
    }
  }
  return undefined;
}

function shown(byte: number): string {
  return byte > 32 && byte < 127
    ? `'${String.fromCharCode(byte)}'`
    : `0x${byte.toString(16).padStart(2, '0')}`;
}
