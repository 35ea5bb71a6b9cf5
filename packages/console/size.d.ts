/** Returns the size of each file of the first view, compressed. */
export function sizesOfFirstView(): { file: string; bytes: number }[];
