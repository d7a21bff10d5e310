import { ConfigError } from '@gateway/config';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { createTokenText } from '@gateway/tokens';
import { describe, expect, it } from 'vitest';
import { readAdminConfig, readAdminProcessConfig, readSharedAdminConfig } from './config.ts';

const oidc = {
  OIDC_ISSUER: 'https://login.example/realms/ops',
  OIDC_CLIENT_ID: 'gateway',
  OIDC_ROLES: 'platform admins=admin, a=b=viewer',
  ADMIN_PUBLIC_URL: 'https://Admin.example/',
};

describe('the settings', () => {
  it('have safe defaults', () => {
    expect(readAdminConfig({})).toEqual({
      names: { host: '127.0.0.1', allowedHosts: [], publicUrl: undefined },
      trustedProxies: [],
      alertIntervalMs: 60_000,
      proxies: { httpsProxy: '', httpProxy: '', noProxy: ',localhost,127.0.0.1,::1' },
      adminToken: undefined,
      allowsDevelopmentSecrets: false,
      sessionIdleMs: 12 * 3_600_000,
      sessionMaxMs: 7 * 24 * 3_600_000,
      oidcSessionMs: 8 * 3_600_000,
      auditRetentionDays: 400,
      oidc: undefined,
      personKeys: [],
    });
  });

  it('of OpenID Connect say which group has which role', () => {
    const { oidc: read, names } = readAdminConfig({ ...oidc, OIDC_CLIENT_SECRET: 'secret' });
    expect(read?.roles).toEqual(
      new Map([
        ['platform admins', 'admin'],
        ['a=b', 'viewer'],
      ]),
    );
    expect(read).toMatchObject({
      publicUrl: 'https://admin.example',
      groupsClaim: 'groups',
      scopes: 'openid profile email',
    });
    expect(read?.clientSecret?.reveal()).toBe('secret');
    expect(names.publicUrl).toBe('https://admin.example');
  });

  it.each([
    ['', []],
    [' , ', []],
    ['*', [['*', '']]],
    [
      'a=b=Team A, staff ,*=Rest',
      [
        ['a=b', 'Team A'],
        ['staff', ''],
        ['*', 'Rest'],
      ],
    ],
  ])('name the groups of people as written: %j', (OIDC_PEOPLE_GROUPS, entries) => {
    expect([...(readAdminConfig({ ...oidc, OIDC_PEOPLE_GROUPS }).oidc?.peopleGroups ?? [])]).toEqual(entries);
  });

  it.each(['developers=', '=team', 'a,a', 'a=b,a=c', '*,*'])('refuse the groups of people %j', (OIDC_PEOPLE_GROUPS) => {
    expect(() => readAdminConfig({ ...oidc, OIDC_PEOPLE_GROUPS })).toThrow('OIDC_PEOPLE_GROUPS must be');
  });

  it('look people up again only if the provider may give a token for that', () => {
    const scopesOf = (OIDC_SCOPES: string) => readAdminConfig({ ...oidc, OIDC_SCOPES }).oidc;
    expect(scopesOf('openid  offline_access groups')).toMatchObject({
      ...{ scopes: 'openid groups', personScopes: 'openid offline_access groups', lookupMs: 900_000 },
    });
    expect(scopesOf('openid groups')).toMatchObject({ personScopes: 'openid groups', lookupMs: undefined });
  });

  it('of processes on one database require the key that encrypts such tokens', () => {
    const offline = { ...oidc, OIDC_SCOPES: 'openid offline_access' };
    expect(() => readSharedAdminConfig(offline)).toThrow('PERSON_KEYS is not set');
    expect(() => readAdminProcessConfig(offline)).toThrow('PERSON_KEYS is not set');
    const { personKeys } = readSharedAdminConfig({ ...offline, PERSON_KEYS: `k1:${'a'.repeat(64)}` });
    expect(personKeys).toMatchObject([{ id: 'k1' }]);
    expect(readSharedAdminConfig(oidc).personKeys).toEqual([]);
  });

  it('read host names, and names below a domain', () => {
    const { names } = readAdminConfig({ ADMIN_ALLOWED_HOSTS: ' Admin, .gateway.svc.cluster.local ,ops.example.,' });
    expect(names.allowedHosts).toEqual(['admin', '.gateway.svc.cluster.local', 'ops.example']);
  });

  it.each([
    [{ ADMIN_ALLOWED_HOSTS: 'http://admin' }, 'without scheme and port'],
    [{ ADMIN_ALLOWED_HOSTS: 'admin:9090' }, 'without scheme and port'],
    [{ ADMIN_ALLOWED_HOSTS: '*.example' }, 'without scheme and port'],
    [{ ADMIN_TOKEN: 'hunter2' }, 'ADMIN_TOKEN must be'],
    [{ ADMIN_TOKEN: 'gw_a_developmentonlydevelopmentonly15DEd7' }, 'ADMIN_TOKEN is the public one of deploy/docker'],
    [{ ADMIN_TOKEN: createTokenText('service') }, 'ADMIN_TOKEN must be'],
    [{ ADMIN_TRUSTED_PROXIES: '10.0.0.0/33' }, 'ADMIN_TRUSTED_PROXIES must be'],
    [{ ADMIN_TRUSTED_PROXIES: 'ingress' }, 'ADMIN_TRUSTED_PROXIES must be'],
    [{ ADMIN_SESSION_IDLE_MINUTES: '1' }, 'from 5 to 43200'],
    [{ ADMIN_SESSION_MAX_HOURS: '1000' }, 'from 1 to 720'],
    [{ OIDC_SESSION_HOURS: '0' }, 'from 1 to 168'],
    [{ ADMIN_PUBLIC_URL: 'https://admin.example/console' }, 'without a path'],
    [{ ...oidc, OIDC_ROLES: 'sre=root' }, '"sre=root" is not valid'],
    [{ ...oidc, OIDC_ISSUER: 'http://login.example' }, 'OIDC_ISSUER must be'],
    [{ ...oidc, ADMIN_PUBLIC_URL: '' }, 'ADMIN_PUBLIC_URL is not set'],
    [{ ...oidc, OIDC_CLIENT_ID: '' }, 'OIDC_CLIENT_ID is not set'],
    [{ ...oidc, OIDC_LOOKUP_SECONDS: '0' }, 'from 1 to 86400'],
    [{ PERSON_KEYS: 'k1:hunter2' }, 'PERSON_KEYS must contain'],
  ])('describe the problem of %j, and never repeat a secret', (env, problem) => {
    let text = '';
    try {
      readAdminConfig(env);
    } catch (thrown) {
      text = thrown instanceof ConfigError ? thrown.message : '';
    }
    expect(text).toContain(problem);
    expect(text).not.toMatch(/hunter2|gw_s_|developmentonly/);
  });

  it('of a process of its own name every service that it calls', () => {
    const read = () => readAdminProcessConfig({});
    for (const name of ['DATABASE_URL', 'IDENTITY_URL', 'POOL_BROKER_URL', 'LIMITER_URL', 'USAGE_QUERY_URL'])
      expect(read).toThrow(`${name} is not set`);
  });

  it('of a process of its own name the adapters and the public API, or none of them', () => {
    const peers = ['IDENTITY_URL', 'POOL_BROKER_URL', 'LIMITER_URL', 'USAGE_QUERY_URL', 'USAGE_INGEST_URL'];
    const env = {
      DATABASE_URL: 'postgres://127.0.0.1/gateway',
      ...Object.fromEntries(peers.map((name) => [name, 'http://peer:50051'])),
    };
    expect(readAdminProcessConfig(env).adapters).toEqual([]);
    const MESSAGES_ADAPTER_URL = 'http://messages:50051';
    expect(readAdminProcessConfig({ ...env, MESSAGES_ADAPTER_URL }).adapters).toEqual([
      { format: ProviderFormat.MESSAGES, name: 'messages-adapter', url: MESSAGES_ADAPTER_URL },
    ]);
    expect(readAdminProcessConfig(env).edgeUrl).toBeUndefined();
    expect(readAdminProcessConfig({ ...env, EDGE_URL: 'https://gateway.example' }).edgeUrl).toBe(
      'https://gateway.example',
    );
    for (const EDGE_URL of ['http://edge:8080/v1', 'file:///etc/passwd', 'http://user@edge']) {
      expect(() => readAdminProcessConfig({ ...env, EDGE_URL })).toThrow('EDGE_URL must');
    }
    const wrong = { ...env, MESSAGES_ADAPTER_URL: 'https://messages:50051' };
    expect(() => readAdminProcessConfig(wrong)).toThrow('MESSAGES_ADAPTER_URL must start with http://');
  });
});
