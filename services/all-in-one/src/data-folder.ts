import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
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
  async tokenHashKey(): Promise<string> {
    const name = 'token-hash-key';
    const existing = await this.read(name);
    if (existing !== undefined) return existing;
    const key = randomBytes(32).toString('base64');
    await this.write(name, key);
    return key;
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
   * Takes the folder for this gateway alone: two on one folder would each count the limits by themselves. Disposing it gives
   * the folder back; so does the end of the process, however that happens.
   *
   * @throws ConfigError that names the process that has it.
   */
  async claim(): Promise<Disposable> {
    const lock = lockFile(join(this.path, 'gateway.lock'));
    if (lock === undefined) {
      throw new ConfigError([
        `${setting}: another gateway (${await this.#owner()}) works on the folder ${resolve(this.path)}. Stop that one, or give this one a folder of its own, for example ${setting}=./data-2.`,
      ]);
    }
    await this.write(ownerFile, `process ${process.pid} on ${hostname()}`);
    return lock;
  }

  /** A process that has just locked the folder may not have said so yet. */
  async #owner(): Promise<string> {
    for (let attempt = 1; attempt < 10; attempt++) {
      const text = (await this.read(ownerFile)) ?? '';
      if (isAlive(text)) return text;
      await sleep(100);
    }
    return (await this.read(ownerFile)) || 'a process that is not known';
  }
}

/** Says for people who has the lock. It proves nothing: a killed process leaves it behind. */
const ownerFile = 'gateway.pid';

function isAlive(owner: string): boolean {
  const pid = Number(/^process (\d+)/.exec(owner)?.[1]);
  try {
    // Signal 0 is not sent: it only asks whether there is such a process.
    return process.kill(pid, 0);
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}

const sqliteBusy = 5;

/**
 * Locks a file, which is made if need be; undefined when another process, or another part of this one, has it. The
 * operating system frees it when its owner dies, and never while its owner is merely slow. Node has no file locks of its
 * own: this is the one that SQLite puts on an empty database.
 */
function lockFile(path: string): Disposable | undefined {
  makePrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, yet without this a file for rolling it back would be made beside this one.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
    return { [Symbol.dispose]: () => database.close() };
  } catch (fault) {
    database.close();
    if (fault instanceof Error && 'errcode' in fault && fault.errcode === sqliteBusy) return undefined;
    throw fault;
  }
}
