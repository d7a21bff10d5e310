import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { backendServers, type EnvReader, Secret } from '@gateway/config';

/** The location of Redis and how to connect to it, from REDIS_URL and related settings. */
export type RedisSettings = ReturnType<typeof required>;
export type RedisTlsFiles = NonNullable<RedisSettings['tls']>;

/**
 * REDIS_URL: one server, Sentinels, or nodes of a Redis Cluster, with user and password of the
 * servers that hold data. REDIS_SENTINEL_PASSWORD (none): the password of the Sentinels.
 * REDIS_CA_FILE (the CAs that Node trusts), REDIS_CERT_FILE and REDIS_KEY_FILE (none): TLS.
 */
export const redisSettings = { required, optional };

function required(reader: EnvReader, why: string) {
  reader.required('REDIS_URL', why, 'redis://127.0.0.1:6379');
  return optional(reader) ?? nowhere;
}

/** Undefined without a REDIS_URL. */
function optional(reader: EnvReader) {
  const url = reader.optional('REDIS_URL');
  if (url === undefined) return undefined;
  const sentinelPassword = secretOf(reader.optional('REDIS_SENTINEL_PASSWORD'));
  const tls = {
    caFile: pemFile(reader, 'REDIS_CA_FILE', reader.optional('REDIS_CA_FILE'), isCertificate),
    certFile: pemFile(reader, 'REDIS_CERT_FILE', reader.optional('REDIS_CERT_FILE'), isCertificate),
    keyFile: pemFile(reader, 'REDIS_KEY_FILE', reader.optional('REDIS_KEY_FILE'), isKey),
  };
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined))
    reader.problem('REDIS_CERT_FILE and REDIS_KEY_FILE must be set together, or not at all.');
  const parts = partsOf(url);
  if (typeof parts === 'string') {
    // The value may contain a password, so it is not repeated.
    reader.problem(`REDIS_URL ${parts} ${formsOfUrl}`);
    return nowhere;
  }
  const { hasTls, username, password, ...place } = parts;
  if (!hasTls && Object.values(tls).some((path) => path !== undefined))
    reader.problem('REDIS_CA_FILE, REDIS_CERT_FILE and REDIS_KEY_FILE require TLS: REDIS_URL must begin with rediss.');
  if (place.kind !== 'sentinel' && sentinelPassword !== undefined)
    reader.problem('REDIS_SENTINEL_PASSWORD is set, but REDIS_URL has no Sentinels.');
  return {
    place: place.kind === 'sentinel' ? { ...place, sentinelPassword } : place,
    username,
    password: secretOf(password),
    /** Undefined: no TLS. */
    tls: hasTls ? tls : undefined,
  };
}

const nowhere = {
  place: { kind: 'server' as const, servers: [], database: 0 },
  username: '',
  password: undefined,
  tls: undefined,
};

const formsOfUrl =
  'It must be one of redis://[user:password@]host:6379[/database], redis-sentinel://[user:password@]host:26379,host:26379[/database]#master-name and redis-cluster://[user:password@]host:6379,host:6379; with TLS they begin with rediss. For example: REDIS_URL=redis://127.0.0.1:6379';

/** The URL's parts, or what is wrong with it. */
function partsOf(url: string) {
  const [whole = '', scheme, kind, user = '', hosts = '', path = ''] =
    /^(rediss?)(-sentinel|-cluster)?:\/\/(?:([^/]*)@)?([^/?#@]*)\/?(\d*)\/?/i.exec(url) ?? [];
  const rest = url.slice(whole.length);
  if (scheme === undefined) return 'is not a Redis URL.';
  const servers = backendServers('REDIS_URL', url);
  if (servers.length === 0 || servers.length !== hosts.split(',').length) return 'has a server that cannot be parsed.';
  const [username, password] = user.split(/:(.*)/s).map(decoded);
  if (username === undefined || (password === undefined && user.includes(':')))
    return 'has a user or password that is not percent-encoded.';
  const login = { hasTls: scheme.toLowerCase() === 'rediss', username, password };
  const database = Number(path);
  if (kind === '-sentinel') {
    const masterName = rest.startsWith('#') ? decoded(rest.slice(1)) : undefined;
    if (!masterName) return 'has no master name: add # and the name that the Sentinels use.';
    return { ...login, kind: 'sentinel' as const, servers, masterName, database };
  }
  if (rest !== '') return 'has text after its servers and database.';
  if (kind === '-cluster') {
    if (database !== 0) return 'has a database: a Redis Cluster has none.';
    return { ...login, kind: 'cluster' as const, servers };
  }
  if (servers.length > 1) return 'has several servers: use the scheme redis-sentinel or redis-cluster.';
  return { ...login, kind: 'server' as const, servers, database };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function secretOf(text: string | undefined): Secret | undefined {
  return text ? new Secret(text) : undefined;
}

function pemFile(reader: EnvReader, name: string, path: string | undefined, isRight: (pem: string) => unknown) {
  try {
    if (path !== undefined && !isRight(readFileSync(path, 'utf8'))) throw new Error('no PEM');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    reader.problem(`${name} must be the path of a PEM file that can be read${reason}.`);
  }
  return path;
}

const isCertificate = (pem: string) => new X509Certificate(pem);
const isKey = (pem: string) => pem.includes('PRIVATE KEY-----');
