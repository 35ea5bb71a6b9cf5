import { readFile, stat } from 'node:fs/promises';
import { ConfigError } from './config.js';
import type { PortalLogo } from './http/console.js';

const bytesMax = 64 * 1024;
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Reads the logo of the portal; whatever is wrong with it is named in one line. */
export async function loadPortalLogo(file: string | undefined): Promise<PortalLogo | undefined> {
  if (file === undefined) return undefined;
  try {
    // Before it is read: it may be something without an end.
    const { size } = await stat(file);
    if (size > bytesMax) throw new Error(`it has ${size} bytes`);
    const bytes = await readFile(file);
    const type = typeOf(bytes);
    if (type === undefined) throw new Error('it is neither SVG nor PNG');
    return { bytes, type };
  } catch (error) {
    throw new ConfigError(
      `POSTHORN_PORTAL_LOGO: ${JSON.stringify(file)} cannot be used: ${(error as Error).message.split('\n')[0]}. ` +
        'Expected a readable SVG or PNG file of at most 64 KiB.',
    );
  }
}

/** Goes by the content: a browser is told the type and does not look for itself. */
function typeOf(bytes: Buffer): PortalLogo['type'] | undefined {
  if (bytes.subarray(0, pngSignature.length).equals(pngSignature)) return 'image/png';
  return /<svg[\s>]/i.test(bytes.toString('utf8')) ? 'image/svg+xml' : undefined;
}
