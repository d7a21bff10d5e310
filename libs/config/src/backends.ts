/** The settings that name the servers where the gateway keeps its state. */
export type BackendSetting = keyof typeof backends;

const backends = {
  DATABASE_URL: { product: 'Postgres', defaultPort: 5432 },
  REDIS_URL: { product: 'Redis', defaultPort: 6379 },
  NATS_URL: { product: 'NATS', defaultPort: 4222 },
} as const;

/** The servers that the setting names, for connection checks. */
export function backendServers(setting: BackendSetting, url: string): readonly ServerAddress[] {
  return serversOf(url, defaultPortOf(setting, url));
}

/** The server that the setting names, without user and password: "Postgres at db:5432". */
export function backendText(setting: BackendSetting, url: string): string {
  const { product } = backends[setting];
  const hosts = hostsOf(url, defaultPortOf(setting, url));
  return hosts === '' ? product : `${product} at ${hosts}`;
}

function defaultPortOf(setting: BackendSetting, url: string): number {
  return /^rediss?-sentinel:/i.test(url) ? 26_379 : backends[setting].defaultPort;
}

/** Tells a person which server can't be reached and what to do. */
export function unreachableText(setting: BackendSetting, url: string, reason: string): string {
  return `${setting}: ${backendText(setting, url)} is unreachable (${reason}). Start it, or set ${setting} to its address.`;
}

/**
 * The servers in a URL, as people write them: "10.0.0.5:5432, db-2:5432". They contain no user,
 * password or path.
 */
export function hostsOf(url: string, defaultPort: number): string {
  return serversOf(url, defaultPort)
    .map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    .join(', ');
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * The servers of one or several URLs, each of which may list several servers separated by commas.
 * Sockets are left out.
 */
function serversOf(urls: string, defaultPort: number): readonly ServerAddress[] {
  return urls.split(/,\s*(?=[a-z][a-z0-9+.-]*:\/\/)/i).flatMap((url) => {
    const [withUser = '', ...query] = url.replace(/^\s*[a-z][a-z0-9+.-]*:\/\//i, '').split(/[?#]/);
    // The `@` may also be part of a password that is not percent-encoded, so nothing is shown.
    if (query.some((part) => part.includes('@'))) return [];
    const [servers = ''] = withUser.slice(withUser.lastIndexOf('@') + 1).split('/', 1);
    return servers.split(',').flatMap((server) => toAddress(server.trim(), defaultPort));
  });
}

function toAddress(server: string, defaultPort: number): readonly ServerAddress[] {
  const [, host = '', port = String(defaultPort)] = /^(\[[^\]]*\]|[^:%]+)(?::(\d+))?$/.exec(server) ?? [];
  const name = host.replace(/^\[|\]$/g, '');
  return name === '' || Number(port) > 65_535 ? [] : [{ host: name, port: Number(port) }];
}
