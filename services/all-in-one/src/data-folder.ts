import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, EnvReader } from '@gateway/config';

/** The folder of everything that the embedded default keeps: database, journal, keys. Only its owner can read it. */
export class DataFolder {
  readonly path: string;

  /** Opens, and makes if need be, the folder that GATEWAY_DATA names (./data). */
  static async open(env: Environment): Promise<DataFolder> {
    const path = new EnvReader(env).string('GATEWAY_DATA', './data');
    await mkdir(path, { recursive: true, mode: 0o700 });
    return new DataFolder(path);
  }

  private constructor(path: string) {
    this.path = path;
  }

  get databaseFile(): string {
    return join(this.path, 'gateway.sqlite');
  }

  /** The key under which token digests are stored. Made once; losing it makes every token unknown. */
  tokenHashKey(): Promise<string> {
    return this.keep('token-hash-key', async () => randomBytes(32).toString('base64'));
  }

  /** The text of a secret file, made by `make` the first time. */
  async keep(name: string, make: () => Promise<string>): Promise<string> {
    const existing = await this.read(name);
    if (existing !== undefined) return existing;
    const text = await make();
    await this.write(name, text);
    return text;
  }

  async read(name: string): Promise<string | undefined> {
    try {
      return (await readFile(join(this.path, name), 'utf8')).trim();
    } catch (thrown) {
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.path, name), `${text}\n`, { mode: 0o600 });
  }
}
