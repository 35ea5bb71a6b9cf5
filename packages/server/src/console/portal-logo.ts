import { readFile, stat } from 'node:fs/promises';
import { ConfigError } from '../settings/config.js';
import type { PortalLogo } from './console.js';

const bytesMax = 64 * 1024;
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Reads the logo of the portal. Reports an error in one line. */
export async function loadPortalLogo(file: string | undefined): Promise<PortalLogo | undefined> {
  if (file === undefined) return undefined;
  try {
    // Check the size before reading, because the file may be huge.
    const { size } = await stat(file);
    if (size > bytesMax) throw new Error(`the file has ${size} bytes`);
    const bytes = await readFile(file);
    const type = typeOf(bytes);
    if (type === undefined) throw new Error('the file is neither SVG nor PNG');
    return { bytes, type };
  } catch (error) {
    throw new ConfigError(
      `POSTHORN_PORTAL_LOGO: ${JSON.stringify(file)} cannot be used: ${(error as Error).message.split('\n')[0]}. ` +
        'Expected a readable SVG or PNG file of at most 64 KiB.',
    );
  }
}

/** Returns the type of the content. Browsers are told not to detect it themselves. */
function typeOf(bytes: Buffer): PortalLogo['type'] | undefined {
  if (bytes.subarray(0, pngSignature.length).equals(pngSignature)) return 'image/png';
  return /<svg[\s>]/i.test(bytes.toString('utf8')) ? 'image/svg+xml' : undefined;
}
