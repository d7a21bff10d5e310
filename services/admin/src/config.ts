import {
  checkNotOfDevelopment,
  type Environment,
  type EnvReader,
  isTokenUrl,
  readAllowsDevelopmentSecrets,
  readProxies,
  readSettings,
  readTrustedProxies,
  Secret,
} from '@gateway/config';
import { type EncryptionKey, parseEncryptionKeys } from '@gateway/config/encryption';
import type { StoredRole } from '@gateway/database';
import { databaseUrl } from '@gateway/database/database-url';
import { parseTokenText } from '@gateway/tokens';
import type { OidcConfig } from './access/oidc-provider.ts';
import { roleNames } from './access/role-names.ts';
import type { MetricsUrls } from './figures/replica-directory.ts';
import { normalName } from './http/page-check.ts';
import { adapterProcesses } from './parts.ts';

/** The settings of the admin service in any process. */
export type AdminConfig = ReturnType<typeof readAdminConfig>;

export function readAdminConfig(env: Environment) {
  return readSettings(env, adminSettings);
}

/** The same where several processes share a database. @throws ConfigError without PERSON_KEYS */
export function readSharedAdminConfig(env: Environment) {
  return readSettings(env, sharedAdminSettings);
}

/**
 * The settings of the admin service in a process of its own. @throws ConfigError that names every
 * variable to set
 */
export function readAdminProcessConfig(env: Environment) {
  return readSettings(env, (reader) => {
    const peer = (name: string, why: string, host: string) => reader.peerUrl(name, why, `http://${host}:50051`);
    return {
      ...sharedAdminSettings(reader),
      // DATABASE_URL (required): the Postgres with operators, sessions and the audit log.
      databaseUrl: databaseUrl.required(reader, 'The database stores operators and the audit log.'),
      peerUrls: {
        identity: peer('IDENTITY_URL', 'The identity service manages tokens.', 'identity'),
        'pool-broker': peer('POOL_BROKER_URL', 'The pool broker manages accounts.', 'pool-broker'),
        limiter: peer('LIMITER_URL', 'The limiter counts limits.', 'limiter'),
        'usage-query': peer('USAGE_QUERY_URL', 'The service reads usage and requests.', 'usage-query'),
        'usage-ingest': peer('USAGE_INGEST_URL', 'The service repairs the ledger.', 'usage-ingest'),
      },
      // RESPONSES_ADAPTER_URL, MESSAGES_ADAPTER_URL (none): the adapters, which probe accounts.
      adapters: [...adapterProcesses].flatMap(([format, { name, setting }]) => {
        const url = reader.optionalPeerUrl(setting, `http://${name}:50051`);
        return url === undefined ? [] : [{ format, name, url }];
      }),
      // EDGE_URL (none): the address of the public API, for the playground.
      edgeUrl: readOrigin(reader, 'EDGE_URL', 'http://edge-router:8080'),
      // METRICS_URLS (none): the admin ports of each service's replicas, for their metrics.
      metricsUrls: readMetricsUrls(reader),
    };
  });
}

function sharedAdminSettings(reader: EnvReader) {
  const settings = adminSettings(reader);
  if (settings.oidc?.lookupMs !== undefined && settings.personKeys.length === 0) reader.problem(noPersonKeys);
  return settings;
}

function adminSettings(reader: EnvReader) {
  // ADMIN_PUBLIC_URL (none): the console's address for browsers, if it is behind a proxy.
  const publicUrl = readOrigin(reader, 'ADMIN_PUBLIC_URL', 'https://admin.example');
  return {
    names: {
      host: reader.string('ADMIN_HOST', reader.string('HOST', '127.0.0.1')),
      // ADMIN_ALLOWED_HOSTS (none): further host names under which the admin port may be called.
      allowedHosts: readAllowedHosts(reader),
      publicUrl,
    },
    // ADMIN_TRUSTED_PROXIES (none): proxies whose X-Forwarded-For and X-Forwarded-Proto are
    // trusted.
    trustedProxies: readTrustedProxies(reader, 'ADMIN_TRUSTED_PROXIES'),
    // ADMIN_TOKEN (none): the token of the operator "admin", while there is no other operator.
    adminToken: readAdminToken(reader),
    allowsDevelopmentSecrets: readAllowsDevelopmentSecrets(reader),
    // ADMIN_SESSION_IDLE_MINUTES (720): a session ends after this time without use.
    sessionIdleMs: reader.integer('ADMIN_SESSION_IDLE_MINUTES', 720, { min: 5, max: 43_200 }) * 60_000,
    // ADMIN_SESSION_MAX_HOURS (168): a session ends after this time, used or not.
    sessionMaxMs: reader.integer('ADMIN_SESSION_MAX_HOURS', 168, { min: 1, max: 720 }) * 3_600_000,
    // OIDC_SESSION_HOURS (8): sessions from an OpenID Connect provider end sooner, because the
    // operator's groups may change.
    oidcSessionMs: reader.integer('OIDC_SESSION_HOURS', 8, { min: 1, max: 168 }) * 3_600_000,
    // AUDIT_RETENTION_DAYS (400): rows of the audit log are removed after this time; 0 keeps all.
    auditRetentionDays: reader.integer('AUDIT_RETENTION_DAYS', 400, { min: 0, max: 36_500 }),
    // ALERT_INTERVAL_SECONDS (60): how often causes of warnings are looked for.
    alertIntervalMs: reader.integer('ALERT_INTERVAL_SECONDS', 60, { min: 1, max: 3_600 }) * 1_000,
    // HTTPS_PROXY, HTTP_PROXY, NO_PROXY (none): the proxy to the receivers of warnings.
    proxies: readProxies(reader),
    oidc: readOidc(reader, publicUrl),
    // PERSON_KEYS (none): the keys that encrypt what the provider gives to look people up again.
    personKeys: readPersonKeys(reader),
  };
}

function readPersonKeys(reader: EnvReader): readonly EncryptionKey[] {
  const text = reader.optional('PERSON_KEYS');
  if (text === undefined) return [];
  checkNotOfDevelopment(reader, 'PERSON_KEYS', text, 'Create one with: openssl rand -base64 32.');
  const keys = parseEncryptionKeys(text);
  // The value is a secret, so it is not repeated.
  if (keys === undefined) reader.problem(`PERSON_KEYS ${badKeys}`);
  return keys ?? [];
}

const noPersonKeys =
  'PERSON_KEYS is not set. OIDC_SCOPES has offline_access, so that people are looked up again at the provider, and PERSON_KEYS encrypts what the provider gives for that. Create a key, and give the same one to every replica: PERSON_KEYS=k1:$(openssl rand -base64 32). Or remove offline_access';

const badKeys =
  'must contain one or more keys in the form id:secret, separated by commas, each with a unique id and 32 bytes in base64 or hex. For example: k1:$(openssl rand -base64 32)';

function readAdminToken(reader: EnvReader): Secret | undefined {
  const text = reader.optional('ADMIN_TOKEN');
  if (text === undefined) return undefined;
  if (parseTokenText(text)?.kind !== 'operator') {
    // The value is a secret: the error does not repeat it.
    reader.problem(`ADMIN_TOKEN must be a complete token that begins with gw_a_. ${howToMakeToken}`);
  }
  checkNotOfDevelopment(reader, 'ADMIN_TOKEN', text, `${howToMakeToken}.`);
  return new Secret(text);
}

const howToMakeToken = 'Create one with: npx node services/admin/src/main.ts --new-token';

/** Undefined without OIDC_ISSUER. */
function readOidc(reader: EnvReader, publicUrl: string | undefined): OidcConfig | undefined {
  const issuer = reader.optional('OIDC_ISSUER');
  if (issuer === undefined) return undefined;
  if (!isTokenUrl(issuer)) {
    reader.problem(
      'OIDC_ISSUER must be a URL that starts with https:// (http:// on this machine only), without user and fragment. For example: OIDC_ISSUER=https://login.example/realms/ops',
    );
  }
  if (publicUrl === undefined) {
    reader.problem(
      'ADMIN_PUBLIC_URL is not set. The OpenID Connect provider redirects browsers to it. For example: ADMIN_PUBLIC_URL=https://admin.example',
    );
  }
  const secret = reader.optional('OIDC_CLIENT_SECRET');
  const scopes = reader.string('OIDC_SCOPES', 'openid profile email').split(' ').filter(Boolean);
  // OIDC_LOOKUP_SECONDS (900): how often signed-in people are looked up again at the provider.
  const lookupMs = reader.integer('OIDC_LOOKUP_SECONDS', 900, { min: 1, max: 86_400 }) * 1_000;
  return {
    issuer,
    clientId: reader.required('OIDC_CLIENT_ID', 'The client id identifies the gateway at the provider.', 'gateway'),
    // OIDC_CLIENT_SECRET (none): for a client that the provider calls confidential.
    clientSecret: secret === undefined ? undefined : new Secret(secret),
    scopes: scopes.filter((scope) => scope !== 'offline_access').join(' '),
    personScopes: scopes.join(' '),
    // OIDC_CONSENT (true): ask people for their consent to lookups, as strict providers require.
    asksConsent: reader.boolean('OIDC_CONSENT', true),
    lookupMs: scopes.includes('offline_access') ? lookupMs : undefined,
    groupsClaim: reader.string('OIDC_GROUPS_CLAIM', 'groups'),
    roles: readRoles(reader),
    peopleGroups: readPeopleGroups(reader),
    label: reader.string('OIDC_LABEL', 'Sign in with your organisation'),
    publicUrl: publicUrl ?? '',
  };
}

/** OIDC_ROLES: `group=role`, separated by commas. */
function readRoles(reader: EnvReader): ReadonlyMap<string, StoredRole> {
  const example = 'platform-admins=admin,sre=operator,developers=viewer';
  const text = reader.required('OIDC_ROLES', 'The setting maps groups of the provider to roles.', example);
  const roles = new Map<string, StoredRole>();
  for (const entry of entriesOf(text)) {
    const sign = entry.lastIndexOf('=');
    const group = entry.slice(0, Math.max(sign, 0)).trim();
    const role = roleNames.find((each) => each === entry.slice(sign + 1).trim());
    if (group !== '' && role !== undefined) roles.set(group, role);
    else
      reader.problem(
        `OIDC_ROLES must be a list of groups with roles (${roleNames.join(', ')}); "${entry}" is not valid. For example: OIDC_ROLES=${example}`,
      );
  }
  return roles;
}

/**
 * OIDC_PEOPLE_GROUPS (none): the groups of the provider whose members may sign in as people,
 * separated by commas, each with the group of their tokens if there is one: `developers=team-a`.
 * `*` stands for everyone, and an empty list for no one.
 */
export function readPeopleGroups(reader: EnvReader): ReadonlyMap<string, string> {
  const entries = entriesOf(reader.string('OIDC_PEOPLE_GROUPS', '')).map((entry): [string, string | undefined] => {
    const sign = entry.lastIndexOf('=');
    return sign === -1 ? [entry, undefined] : [entry.slice(0, sign).trim(), entry.slice(sign + 1).trim()];
  });
  const isUnique = new Set(entries.map(([group]) => group)).size === entries.length;
  // An entry that ends with "=" must not give tokens without rules.
  if (!isUnique || entries.some(([group, ours]) => group === '' || ours === '')) {
    reader.problem(
      'OIDC_PEOPLE_GROUPS must be a list of different groups, each with or without a group of tokens; * stands for everyone. For example: OIDC_PEOPLE_GROUPS=developers=team-a,staff',
    );
  }
  return new Map(entries.map(([group, ours = '']) => [group, ours]));
}

/** A URL without a path. */
function readOrigin(reader: EnvReader, name: string, example: string): string | undefined {
  const text = reader.optionalUrl(name, example, ['https', 'http']);
  const url = text === undefined ? null : URL.parse(text);
  if (url !== null && url.origin !== text?.toLowerCase()) {
    reader.problem(`${name} must be a scheme and a host, without a path. For example: ${name}=${example}`);
  }
  return url?.origin;
}

/**
 * Reads ADMIN_ALLOWED_HOSTS: host names separated by commas. `.example` stands for all names below
 * it.
 */
function readAllowedHosts(reader: EnvReader): readonly string[] {
  const names = entriesOf(reader.string('ADMIN_ALLOWED_HOSTS', '')).map(normalName).filter(Boolean);
  const wrong = names.filter((name) => !/^\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name));
  if (wrong.length > 0) {
    reader.problem(
      `ADMIN_ALLOWED_HOSTS must be host names without scheme and port, separated by commas, not "${wrong.join(', ')}". For example: ADMIN_ALLOWED_HOSTS=admin,.gateway.svc.cluster.local`,
    );
  }
  return names;
}

/**
 * Reads METRICS_URLS: `<service>=<url>`, separated by commas. A name stands for every replica that
 * it resolves to.
 */
export function readMetricsUrls(reader: EnvReader): MetricsUrls {
  const urls: [string, string][] = [];
  for (const entry of entriesOf(reader.string('METRICS_URLS', ''))) {
    const [, service, url] = /^([\w-]+)=(https?:\/\/[^\s/]+)\/?$/.exec(entry) ?? [];
    if (service !== undefined && url !== undefined && URL.canParse(url)) urls.push([service, url]);
    else {
      reader.problem(
        `METRICS_URLS must be services with their admin addresses, separated by commas; "${entry}" is not valid. For example: METRICS_URLS=edge-router=http://edge-router:9090,limiter=http://limiter:9090`,
      );
    }
  }
  return urls;
}

/** The items of a setting that are separated by commas. */
function entriesOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
}
