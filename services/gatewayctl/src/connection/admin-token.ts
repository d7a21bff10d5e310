import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Environment, readSettings } from '@gateway/config/env-reader';
import { isLoopback } from '@gateway/config/transport-settings';

/** The token for signing in, and its source. */
interface AdminToken {
  readonly token: string;
  readonly origin: string;
}

/**
 * GATEWAY_ADMIN_TOKEN, otherwise the token of `gatewayctl login`, otherwise the file of the
 * embedded gateway. @throws ConfigError
 */
export async function findAdminToken(env: Environment, url: string): Promise<AdminToken | undefined> {
  const { set, data } = readSettings(env, (reader) => ({
    set: reader.optional('GATEWAY_ADMIN_TOKEN'),
    data: reader.string('GATEWAY_DATA', './data'),
  }));
  if (set !== undefined) return { token: set, origin: 'GATEWAY_ADMIN_TOKEN' };
  const login = await storedLogin(env, url);
  if (login !== undefined) return { token: login, origin: 'gatewayctl login' };
  // A gateway on another machine has another folder: this machine's token is not sent to it.
  if (!isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''))) return undefined;
  const file = join(data, 'admin-token');
  const written = await readFile(file, 'utf8').catch(() => '');
  return written.trim() === '' ? undefined : { token: written.trim(), origin: file };
}

// Tokens of `gatewayctl login`, by address: a file that only its owner can read.

export function loginsFile(env: Environment): string {
  return join(env.XDG_CONFIG_HOME || join(homeFolder(), '.config'), 'gatewayctl', 'logins.json');
}

/**
 * A user without a name, as in containers, has no home folder: nothing is read from "/" or written
 * there.
 */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}

export async function storedLogin(env: Environment, url: string): Promise<string | undefined> {
  return (await readLogins(env))[url];
}

export async function storeLogin(env: Environment, url: string, token: string): Promise<void> {
  await writeLogins(env, { ...(await readLogins(env)), [url]: token });
}

/** @returns false if there was none. */
export async function forgetLogin(env: Environment, url: string): Promise<boolean> {
  const { [url]: token, ...others } = await readLogins(env);
  if (token !== undefined) await writeLogins(env, others);
  return token !== undefined;
}

async function readLogins(env: Environment): Promise<Readonly<Record<string, string>>> {
  const file = loginsFile(env);
  try {
    const logins: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (areTexts(logins)) return logins;
    throw new TypeError();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return {};
    // Its text is not repeated: it has tokens.
    throw new Error(`${file} is not a valid login file. Remove it and log in again.`);
  }
}

function areTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');
}

async function writeLogins(env: Environment, logins: Readonly<Record<string, string>>): Promise<void> {
  const file = loginsFile(env);
  if (Object.keys(logins).length === 0) return await rm(file, { force: true });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const written = `${file}.${process.pid}`;
  await writeFile(written, `${JSON.stringify(logins, undefined, 2)}\n`, { mode: 0o600 });
  await rename(written, file);
}
