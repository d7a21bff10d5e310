import { hostsOf, type ServerAddress, serversOf } from './hosts-of.ts';

/** The settings that name servers which the gateway keeps its state in. */
export type BackendSetting = keyof typeof backends;

const backends = {
  DATABASE_URL: { product: 'Postgres', defaultPort: 5432 },
  REDIS_URL: { product: 'Redis', defaultPort: 6379 },
  NATS_URL: { product: 'NATS', defaultPort: 4222 },
} as const;

export const backendSettings: readonly BackendSetting[] = ['DATABASE_URL', 'REDIS_URL', 'NATS_URL'];

/** The servers of such a setting, to be tried. */
export function backendServers(setting: BackendSetting, url: string): readonly ServerAddress[] {
  return serversOf(url, backends[setting].defaultPort);
}

/** What the setting names, without user and password: "Postgres at db:5432". */
export function backendText(setting: BackendSetting, url: string): string {
  const { product, defaultPort } = backends[setting];
  const hosts = hostsOf(url, defaultPort);
  return hosts === '' ? product : `${product} at ${hosts}`;
}

/** For a person: which server is away, and what to do. */
export function unreachableText(setting: BackendSetting, url: string, reason: string): string {
  return `${setting}: ${backendText(setting, url)} can not be reached (${reason}). Start it, or set ${setting} to where it runs.`;
}
