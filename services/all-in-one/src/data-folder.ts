import { access, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  answeringInTime,
  ConfigError,
  type Environment,
  EnvReader,
  isDiskFull,
  makePrivateFile,
  narrowMode,
  openFolder,
} from '@gateway/config';
import { randomBytes } from '@gateway/time';

const setting = 'GATEWAY_DATA';

/**
 * The folder with everything that the embedded defaults store: database, usage outbox, keys. Only
 * its owner can read it.
 */
export class DataFolder {
  readonly databaseFile: string;
  /** The file of requests that took a slot in the last minute. */
  readonly admissionsFile: string;
  readonly path: string;

  /**
   * Opens the folder in GATEWAY_DATA (./data), and creates it if necessary.
   * @throws ConfigError when it is not usable.
   */
  static async open(env: Environment): Promise<DataFolder> {
    const path = new EnvReader(env).string(setting, './data');
    await openFolder(setting, path);
    return new DataFolder(path);
  }

  /**
   * The gateway that uses the folder in GATEWAY_DATA. Undefined: none does, or the folder does not
   * exist.
   *
   * @throws ConfigError when the folder does not answer.
   */
  static async ownerOf(env: Environment): Promise<FolderOwner | undefined> {
    const path = new EnvReader(env).string(setting, './data');
    const folder = new DataFolder(path);
    if (!(await answeringInTime(setting, path, folder.#isLocked()))) return undefined;
    return { name: await folder.#ownerName(), path: resolve(path) };
  }

  /** Where the embedded database is, or would be. Creates nothing. */
  static async databaseFileOf(env: Environment): Promise<{ readonly path: string; readonly exists: boolean }> {
    const folder = new EnvReader(env).string(setting, './data');
    const path = resolve(new DataFolder(folder).databaseFile);
    return { path, exists: await answeringInTime(setting, folder, exists(path)) };
  }

  private constructor(path: string) {
    this.path = path;
    this.databaseFile = join(path, 'gateway.sqlite');
    this.admissionsFile = join(path, 'admissions.sqlite');
  }

  /** The key that hashes token digests. It is created once; without it every token is unknown. */
  tokenHashKey(): Promise<string> {
    return this.#keptText('token-hash-key', newKey);
  }

  /**
   * The key that encrypts the credentials of stored accounts. It is created once; without it these
   * accounts can't be used. Its id differs from those in the docs, so that keys can be combined.
   */
  accountKeys(): Promise<string> {
    return this.#keptText('account-keys', () => `data-folder:${newKey()}`);
  }

  /** The key that encrypts what the OpenID Connect provider gives for people. */
  personKeys(): Promise<string> {
    return this.#keptText('person-keys', () => `data-folder:${newKey()}`);
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

  /**
   * Reserves the folder for this gateway, because two gateways on one folder would each count
   * limits separately. The lock is SQLite's lock on an empty database, which the operating system
   * releases when the process dies, and not before.
   */
  async claim(): Promise<Disposable> {
    const path = this.#lockFile;
    makePrivateFile(path);
    // A process that checks whether the lock is taken holds it for a moment.
    const lock = new DatabaseSync(path, { timeout: 200 });
    try {
      // Nothing is ever written, but without this a rollback journal would be created beside the
      // file.
      lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
    } catch (thrown) {
      lock.close();
      if (!isBusy(thrown)) throw thrown;
      throw new ConfigError([
        `${setting}: another gateway (${await this.#ownerName()}) uses the folder ${resolve(this.path)}. Stop it, or use another folder, for example ${setting}=./data-2.`,
      ]);
    }
    // A full disk keeps no name: the lock counts.
    await this.write(ownerFile, `process ${process.pid} on ${hostname()}`).catch((thrown: unknown) => {
      if (!isDiskFull(thrown, this.path)) throw thrown;
    });
    return { [Symbol.dispose]: () => lock.close() };
  }

  async #keptText(name: string, create: () => string): Promise<string> {
    const existing = await this.read(name);
    if (existing !== undefined) return existing;
    const text = create();
    await this.write(name, text);
    return text;
  }

  async #isLocked(): Promise<boolean> {
    if (!(await exists(this.#lockFile))) return false;
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
    return (await this.read(ownerFile)) ?? 'an unknown process';
  }

  get #lockFile(): string {
    return join(this.path, 'gateway.lock');
  }
}

interface FolderOwner {
  /** For people: which process on which machine. */
  readonly name: string;
  readonly path: string;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function newKey(): string {
  return randomBytes(32).toString('base64');
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'errcode' in thrown && thrown.errcode === 5;
}

/** Tells people who holds the lock. It proves nothing: a killed process leaves it behind. */
const ownerFile = 'gateway.pid';
