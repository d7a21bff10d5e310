import { randomBytes } from 'node:crypto';
import { access, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  answeringInTime,
  ConfigError,
  type Environment,
  EnvReader,
  makePrivateFile,
  narrowMode,
  openFolder,
} from '@gateway/config';

const setting = 'GATEWAY_DATA';

/** The folder of everything that the embedded default keeps: database, usage outbox, keys. Only its owner can read it. */
export class DataFolder {
  readonly databaseFile: string;
  /** The requests that took a slot in the last minute. */
  readonly admissionsFile: string;
  readonly #path: string;

  /** Opens, and makes if need be, the folder that GATEWAY_DATA names (./data). @throws ConfigError when it can't be used. */
  static async open(env: Environment): Promise<DataFolder> {
    const path = new EnvReader(env).string(setting, './data');
    await openFolder(setting, path);
    return new DataFolder(path);
  }

  /**
   * The gateway that works on the folder that GATEWAY_DATA names. Undefined: none does, or there is no such folder.
   *
   * @throws ConfigError when the folder does not answer.
   */
  static async ownerOf(env: Environment): Promise<FolderOwner | undefined> {
    const path = new EnvReader(env).string(setting, './data');
    const folder = new DataFolder(path);
    if (!(await answeringInTime(setting, path, folder.#isLocked()))) return undefined;
    return { name: await folder.#ownerName(), path: resolve(path) };
  }

  private constructor(path: string) {
    this.#path = path;
    this.databaseFile = join(path, 'gateway.sqlite');
    this.admissionsFile = join(path, 'admissions.sqlite');
  }

  /** The key under which token digests are stored. Made once; losing it makes every token unknown. */
  async tokenHashKey(): Promise<string> {
    const existing = await this.read('token-hash-key');
    if (existing !== undefined) return existing;
    const key = randomBytes(32).toString('base64');
    await this.write('token-hash-key', key);
    return key;
  }

  async read(name: string): Promise<string | undefined> {
    const path = join(this.#path, name);
    try {
      narrowMode(path);
      return (await answeringInTime(setting, path, readFile(path, 'utf8'))).trim();
    } catch (thrown) {
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.#path, name);
    makePrivateFile(path);
    await writeFile(path, `${text}\n`);
  }

  /**
   * Takes the folder for this gateway alone: two on one folder would each count the limits by themselves. The lock is the one that
   * SQLite puts on an empty database, which the operating system takes away when the process dies, and not before.
   */
  async claim(): Promise<Disposable> {
    const path = this.#lockFile;
    makePrivateFile(path);
    // A process that looks whether the lock is taken holds it for a moment.
    const lock = new DatabaseSync(path, { timeout: 200 });
    try {
      // Nothing is ever written, yet without this a file for rolling it back would be made beside this one.
      lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
    } catch (thrown) {
      lock.close();
      if (!isBusy(thrown)) throw thrown;
      throw new ConfigError([
        `${setting}: another gateway (${await this.#ownerName()}) works on the folder ${resolve(this.#path)}. Stop that one, or give this one a folder of its own, for example ${setting}=./data-2.`,
      ]);
    }
    await this.write(ownerFile, `process ${process.pid} on ${hostname()}`);
    return { [Symbol.dispose]: () => lock.close() };
  }

  async #isLocked(): Promise<boolean> {
    const exists = await access(this.#lockFile).then(
      () => true,
      () => false,
    );
    if (!exists) return false;
    try {
      using lock = new DatabaseSync(this.#lockFile, { readOnly: true, timeout: 0 });
      lock.exec('SELECT 1 FROM sqlite_schema');
      return false;
    } catch (thrown) {
      if (isBusy(thrown)) return true;
      throw thrown;
    }
  }

  async #ownerName(): Promise<string> {
    return (await this.read(ownerFile)) ?? 'a process that is not known';
  }

  get #lockFile(): string {
    return join(this.#path, 'gateway.lock');
  }
}

interface FolderOwner {
  /** For people: which process on which machine. */
  readonly name: string;
  readonly path: string;
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'errcode' in thrown && thrown.errcode === 5;
}

/** Says for people who has the lock. It proves nothing: a killed process leaves it behind. */
const ownerFile = 'gateway.pid';
