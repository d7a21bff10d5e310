import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, EnvReader, isLoopback } from '@gateway/config';
import { storedLogin } from './logins.ts';

/** What a command signs in with, and where that came from. */
export interface AdminToken {
  readonly token: string;
  readonly origin: string;
}

/** GATEWAY_ADMIN_TOKEN, else what `gatewayctl login` stored, else what the embedded default wrote. @throws ConfigError */
export async function findAdminToken(env: Environment, url: string): Promise<AdminToken | undefined> {
  const reader = new EnvReader(env);
  const set = reader.optional('GATEWAY_ADMIN_TOKEN');
  const data = reader.string('GATEWAY_DATA', './data');
  reader.done();
  if (set !== undefined) return { token: set, origin: 'GATEWAY_ADMIN_TOKEN' };
  const login = await storedLogin(env, url);
  if (login !== undefined) return { token: login, origin: 'gatewayctl login' };
  // A gateway on another machine has another folder: the token of this one is not shown to it.
  if (!isLoopback(new URL(url).hostname.replaceAll(/[[\]]/g, ''))) return undefined;
  const file = join(data, 'admin-token');
  const written = await readFile(file, 'utf8').catch(() => '');
  return written.trim() === '' ? undefined : { token: written.trim(), origin: file };
}
