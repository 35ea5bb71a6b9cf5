/** Returns the bytes of the core and all that it imports, minified and compressed. */
export function sizeOfCore(): Promise<number>;
