import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailure } from './command.js';

export interface Profile {
  url: string;
  token: string;
}

interface ProfilesFile {
  current: string;
  profiles: Record<string, Profile>;
}

type Env = Record<string, string | undefined>;

/** Returns the directory for everything that the command line stores; undefined if there is no home directory. */
export function configDirectory(env: Env): string | undefined {
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'posthorn');
  if (process.platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'posthorn');
  return env.HOME ? join(env.HOME, '.config', 'posthorn') : undefined;
}

/** Stores profiles by name in `profiles.json` in the configuration directory, readable only by its owner. */
export class Profiles {
  readonly #directory: string | undefined;

  constructor(env: Env) {
    this.#directory = configDirectory(env);
  }

  get file(): string {
    if (this.#directory === undefined)
      throw new CommandFailure('There is no directory for profiles. Set HOME or XDG_CONFIG_HOME.');
    return join(this.#directory, 'profiles.json');
  }

  /** Returns the profile with this name, or the current one. */
  async find(name?: string): Promise<{ name: string; profile: Profile } | undefined> {
    const { current, profiles } = await this.#read();
    const wanted = name ?? current;
    const profile = Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined;
    return profile && { name: wanted, profile };
  }

  async names(): Promise<string[]> {
    return Object.keys((await this.#read()).profiles).sort();
  }

  /** Stores a profile and makes it the current one. */
  async store(name: string, profile: Profile): Promise<void> {
    const { profiles } = await this.#read();
    await this.#write({ current: name, profiles: { ...profiles, [name]: profile } });
  }

  /** Removes a profile. Returns false if there is none with this name. */
  async remove(name: string): Promise<boolean> {
    const { current, profiles } = await this.#read();
    if (!Object.hasOwn(profiles, name)) return false;
    const { [name]: _removed, ...others } = profiles;
    const next = current === name ? (Object.keys(others)[0] ?? 'default') : current;
    await this.#write({ current: next, profiles: others });
    return true;
  }

  async #read(): Promise<ProfilesFile> {
    const none = { current: 'default', profiles: {} };
    if (this.#directory === undefined) return none;
    const text = await readFile(this.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new CommandFailure(`Cannot read ${this.file}: ${error.message}. Check its owner and mode.`);
    });
    if (text === undefined) return none;
    const content = profilesIn(text);
    if (!content)
      throw new CommandFailure(`${this.file} does not contain profiles. Delete it, then run posthorn login.`);
    return content;
  }

  #write(content: ProfilesFile): Promise<void> {
    return writePrivate(this.file, `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** Returns the content of a file of profiles, or undefined if the text is something else. */
function profilesIn(text: string): ProfilesFile | undefined {
  try {
    const { current, profiles } = JSON.parse(text) as ProfilesFile;
    const isComplete = Object.values(profiles).every(
      ({ url, token }) => typeof url === 'string' && typeof token === 'string',
    );
    return isComplete && typeof current === 'string' ? { current, profiles } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Replaces a file that only its owner may read. A reader sees either the old or the new content, and nothing in
 * between.
 */
export async function writePrivate(file: string, text: string): Promise<void> {
  try {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, file);
  } catch (error) {
    throw cannotWrite(file, error);
  }
}

export function cannotWrite(file: string, error: unknown): CommandFailure {
  return new CommandFailure(
    `Cannot write ${file}: ${(error as Error).message}. Check that its directory is writable and the disk is not ` +
      'full, then run the command again.',
  );
}
