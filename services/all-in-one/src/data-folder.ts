import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answeringInTime, type Environment, EnvReader, makePrivateFile, narrowMode, openFolder } from '@gateway/config';

const setting = 'GATEWAY_DATA';

/** The folder of everything that the embedded default keeps: database, usage outbox, keys. Only its owner can read it. */
export class DataFolder {
  readonly path: string;

  /** Opens, and makes if need be, the folder that GATEWAY_DATA names (./data). @throws ConfigError when it can't be used. */
  static async open(env: Environment): Promise<DataFolder> {
    const path = new EnvReader(env).string(setting, './data');
    await openFolder(setting, path);
    return new DataFolder(path);
  }

  private constructor(path: string) {
    this.path = path;
  }

  get databaseFile(): string {
    return join(this.path, 'gateway.sqlite');
  }

  /** The requests that took a slot in the last minute. */
  get admissionsFile(): string {
    return join(this.path, 'admissions.sqlite');
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
    const path = join(this.path, name);
    try {
      narrowMode(path);
      return (await answeringInTime(setting, path, readFile(path, 'utf8'))).trim();
    } catch (thrown) {
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.path, name);
    makePrivateFile(path);
    await writeFile(path, `${text}\n`);
  }
}
