import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Environment } from './env-reader.ts';
import { ConfigError } from './env-reader.ts';
import type { AccountConfig } from './gateway-config.ts';
import { loadGatewayFile } from './gateway-file.ts';

const env = { OPENAI_API_KEY: 'sk-openai-canary\n', ANTHROPIC_API_KEY: 'sk-anthropic-canary', HOST_B: 'b.example' };

const goodFile = `
pools:
  responses: { format: responses, owned_by: provider_a, base_url: "https://api.openai.com/v1/" }
  messages:  { format: messages,  owned_by: provider_b, base_url: "https://\${HOST_B}/v1", model_patterns: ["claude-*", "my-*"] }
accounts:
  - { pool: responses, name: team-a, credential: { bearer: "\${OPENAI_API_KEY}" }, max_concurrency: 4, models: ["gpt-*"] }
  - { pool: messages,  name: team-a, credential: { api_key: "\${ANTHROPIC_API_KEY}" }, state: draining }
classes:
  sterk:  { name: Sterk, effort: high, candidates: [responses/gpt-5.5, messages/vendor/claude-opus-4-8] }
settings:
  unauthorized_cooldown_seconds: 1.5
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function load(text: string, environment: Environment = env) {
  const path = join(folder, 'gateway.yaml');
  writeFileSync(path, text);
  return loadGatewayFile(path, environment);
}

function staticSecretOf(account: AccountConfig | undefined): string | undefined {
  return account === undefined || account.credential.kind === 'oauth' ? undefined : account.credential.secret.reveal();
}

function problemsOf(text: string, environment: Environment = env): readonly string[] {
  try {
    load(text, environment);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems.map((problem) => problem.replace(`${folder}/`, ''));
    throw thrown;
  }
  return [];
}

describe('gateway.yaml', () => {
  it('becomes pools, accounts and classes in the order of the file', () => {
    const config = load(goodFile);
    expect(config.pools).toEqual([
      {
        name: 'responses',
        format: 'responses',
        ownedBy: 'provider_a',
        baseUrl: 'https://api.openai.com/v1',
        simulated: false,
        modelPatterns: ['gpt-*', 'o1*', 'o3*', 'o4*', 'codex-*'],
        modelTraits: [],
      },
      {
        name: 'messages',
        format: 'messages',
        ownedBy: 'provider_b',
        baseUrl: 'https://b.example/v1',
        simulated: false,
        modelPatterns: ['claude-*', 'my-*'],
        modelTraits: [],
      },
    ]);
    expect(
      config.accounts.map(({ pool, name, maxConcurrency, models, state }) => [
        pool,
        name,
        maxConcurrency,
        models,
        state,
      ]),
    ).toEqual([
      ['responses', 'team-a', 4, ['gpt-*'], 'active'],
      ['messages', 'team-a', undefined, undefined, 'draining'],
    ]);
    expect(config.classes).toEqual([
      {
        id: 'gateway/sterk',
        name: 'Sterk',
        effort: 'high',
        candidates: [
          { pool: 'responses', model: 'gpt-5.5' },
          { pool: 'messages', model: 'vendor/claude-opus-4-8' },
        ],
      },
    ]);
  });

  it('takes secrets from the environment, without the line end they often carry', () => {
    const [first, second] = load(goodFile).accounts;
    expect(first?.credential.kind).toBe('bearer');
    expect(staticSecretOf(first)).toBe('sk-openai-canary');
    expect(staticSecretOf(second)).toBe('sk-anthropic-canary');
  });

  it('never shows a secret when printed', () => {
    const config = load(goodFile);
    const printed = [JSON.stringify(config), inspect(config, { depth: null }), `${config.accounts[0]?.credential}`];
    expect(printed.join()).toContain('[redacted]');
    expect(printed.join()).not.toContain('canary');
  });

  it('fills every setting that is left out', () => {
    const { settings } = load(goodFile);
    expect(settings).toMatchObject({ unauthorizedCooldownMs: 1_500, affinityTtlMs: 3_600_000, maxErrorAttempts: 3 });
    expect(Object.values(settings).every(Number.isFinite)).toBe(true);
  });

  it('takes every duration and share that health and selection go by', () => {
    const { settings } = load(`
pools: { p: { format: responses, owned_by: o, base_url: "http://x" } }
settings:
  unauthorized_cooldown_max_seconds: 1200
  early_probe_interval_seconds: 1.5
  last_resort_probe_interval_seconds: 2
  limit_probe_quiet_seconds: 3.5
  pool_pause_seconds: 4
  pool_pause_max_seconds: 5
  pool_failure_window_seconds: 6
  pool_failure_accounts: 7
  overload_confirm_seconds: 8
  network_confirm_seconds: 9
  pool_probe_quiet_seconds: 10
  quota_reserve_share: 0.11
  caller_reserve_share: 0.12
  caller_memory_seconds: 13
`);
    expect(settings).toMatchObject({
      unauthorizedCooldownMaxMs: 1_200_000,
      earlyProbeIntervalMs: 1_500,
      lastResortProbeIntervalMs: 2_000,
      limitProbeQuietMs: 3_500,
      poolPauseMs: 4_000,
      poolPauseMaxMs: 5_000,
      poolFailureWindowMs: 6_000,
      poolFailureAccounts: 7,
      overloadConfirmMs: 8_000,
      networkConfirmMs: 9_000,
      poolProbeQuietMs: 10_000,
      quotaReserveShare: 0.11,
      callerReserveShare: 0.12,
      callerMemoryMs: 13_000,
    });
  });

  it('refuses settings that contradict each other or make no sense, by their paths', () => {
    const settings = `{ pool_pause_seconds: 60, unauthorized_cooldown_max_seconds: 5, pool_failure_accounts: 1.5, callers: 1 }`;
    const pools = 'pools: { p: { format: responses, owned_by: o, base_url: "http://x" } }';
    expect(problemsOf(`${pools}\nsettings: ${settings}`)).toEqual([
      'settings.pool_failure_accounts: must be a value of type int',
      'settings.callers: this key does not exist',
    ]);
    expect(problemsOf(`${pools}\nsettings: { pool_pause_seconds: 60, unauthorized_cooldown_max_seconds: 5 }`)).toEqual([
      'settings.unauthorized_cooldown_max_seconds: must be at least unauthorized_cooldown_seconds, which is 600',
      'settings.pool_pause_max_seconds: must be at least pool_pause_seconds, which is 60',
    ]);
  });

  it('reports every problem at once, by its path', () => {
    const problems = problemsOf(
      `
colour: red
pools:
  responses: { format: soap, owned_by: provider_a, base_url: "ftp://x", wheels: 4 }
  "2b": { format: messages, owned_by: b, base_url: "https://x" }
accounts:
  - { pool: responses, name: a, credential: { bearer: "\${ANTHROPIC_API_KEY}" } }
  - { pool: responses, name: a, credential: { bearer: "\${OPENAI_API_KEY}" } }
  - { pool: respones, name: c, credential: { bearer: x, api_key: y }, max_concurrency: many }
  - { pool: responses, credential: { bearer: "\${OPENAI-KEY}" }, colour: red }
classes:
  sterk: { name: Sterk, effort: enormous, candidates: [nowhere/gpt, gpt] }
settings: { error_threshold: 2 }
`,
      { ANTHROPIC_API_KEY: 'k' },
    );
    expect(problems).toEqual([
      'accounts[1].credential.bearer: the environment variable OPENAI_API_KEY is not set',
      `accounts[3].credential.bearer: a reference must have the form \${NAME}, with the name of an environment variable`,
      'pools.responses.format: must be one of responses, messages',
      'pools.responses.base_url: must be a URL that starts with http:// or https://',
      'pools.responses.wheels: this key does not exist',
      'pools.2b: must begin with a letter and contain only letters, digits, ".", "_" and "-"',
      `accounts[2].credential: must be { bearer: "\${NAME}" }, { api_key: "\${NAME}" } or { oauth: { … } }`,
      'accounts[2].max_concurrency: must be a value of type number',
      'accounts[3].name: is missing',
      'accounts[3].colour: this key does not exist',
      'classes.sterk.effort: must be one of none, minimal, low, medium, high, xhigh, max, ultra',
      'classes.sterk.candidates[1]: must have the form pool/model',
      'settings.error_threshold: too big: expected number to be <=1',
      'colour: this key does not exist',
      'accounts[2].pool: this pool does not exist; the pools are responses, 2b',
      'classes.sterk.candidates[0]: this pool does not exist; the pools are responses, 2b',
      'accounts[1].name: accounts[0] has the same name in the same pool',
    ]);
  });

  it('drains an account that is to be drained, unless it is not used at all', () => {
    const { accounts } = load(`
pools: { p: { format: responses, owned_by: o, base_url: "http://x" } }
accounts:
  - { pool: p, name: a, credential: { bearer: k }, drain: true }
  - { pool: p, name: b, credential: { bearer: k }, drain: false }
  - { pool: p, name: c, credential: { bearer: k }, drain: true, state: disabled }
  - { pool: p, name: d, credential: { bearer: k }, drain: false, state: draining }
`);
    expect(accounts.map(({ state }) => state)).toEqual(['draining', 'active', 'disabled', 'draining']);
  });

  it('says where bad YAML is, without quoting it', () => {
    const problems = problemsOf('pools:\n  responses: { format: responses\naccounts:\n\t- sk-canary: "x" y');
    expect(problems[0]).toMatch(/^gateway\.yaml:\d+:\d+: \S/);
    expect(problems.join()).not.toContain('canary');
    expect(problemsOf('a: 1\na: 2')).toEqual(['gateway.yaml:2:1: Map keys must be unique']);
  });

  it('never repeats a credential that stands where none belongs', () => {
    const problems = problemsOf(
      goodFile
        .replace('pool: responses', 'pool: sk-canary')
        .replace('max_concurrency: 4', 'max_concurrency: sk-canary'),
    );
    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toContain('canary');
  });

  it('says so when the file is empty, has no pools, or cannot be read', () => {
    expect(problemsOf('')).toEqual(['the file: must be a value of type object']);
    expect(problemsOf('pools: {}')).toEqual(['pools: must contain at least one pool']);
    expect(() => loadGatewayFile(join(folder, 'absent.yaml'), env)).toThrow(
      /absent\.yaml: the file can't be read \(ENOENT\)/,
    );
  });
});

describe('the source of a configuration', () => {
  it('knows whether the file has changed', () => {
    const { source } = load(goodFile);
    expect(source?.digestNow()).toBe(source?.digest);
    writeFileSync(join(folder, 'gateway.yaml'), `${goodFile}# more`);
    expect(source?.digestNow()).not.toBe(source?.digest);
    writeFileSync(join(folder, 'gateway.yaml'), goodFile);
    expect(source?.digestNow()).toBe(source?.digest);
  });

  it('reads the file and the environment again', () => {
    const environment = { ...env, OPENAI_API_KEY: 'before' };
    const { source } = load(goodFile, environment);
    writeFileSync(join(folder, 'gateway.yaml'), goodFile.replace('name: Sterk', 'name: Sterker'));
    environment.OPENAI_API_KEY = 'after';
    const again = source?.load();
    expect(again?.classes[0]?.name).toBe('Sterker');
    expect(staticSecretOf(again?.accounts[0])).toBe('after');
    expect(again?.source?.digest).toBe(source?.digestNow());
  });

  it('says so when the file is gone or broken', () => {
    const { source } = load(goodFile);
    writeFileSync(join(folder, 'gateway.yaml'), 'pools: {}');
    expect(() => source?.load()).toThrow('pools: must contain at least one pool');
    rmSync(join(folder, 'gateway.yaml'));
    expect(() => source?.digestNow()).toThrow(/can't be read \(ENOENT\)/);
  });
});

describe('an OAuth credential in gateway.yaml', () => {
  const withOAuth = (members: string) => `
pools: { p: { format: responses, owned_by: o, base_url: "https://x" } }
accounts: [{ pool: p, name: a, credential: { oauth: { ${members} } } }]`;
  const secrets = { REFRESH: 'rt-canary', CLIENT: 'cs-canary' };

  it('names the endpoint, the client, and where the refresh token is', () => {
    const [account] = load(
      withOAuth(
        `token_url: "https://auth.example/token", client_id: me, client_secret: "\${CLIENT}", refresh_token: "\${REFRESH}", scopes: [a, b]`,
      ),
      secrets,
    ).accounts;
    expect(account?.credential).toMatchObject({
      kind: 'oauth',
      tokenUrl: 'https://auth.example/token',
      clientId: 'me',
      scopes: ['a', 'b'],
    });
    if (account?.credential.kind !== 'oauth') expect.fail('it is another kind');
    expect(account.credential.refreshToken.reveal()).toBe('rt-canary');
    expect(account.credential.clientSecret?.reveal()).toBe('cs-canary');
    expect(inspect(account, { depth: null })).not.toContain('canary');
  });

  it('is refused with the place of each problem, and without a secret', () => {
    const problems = problemsOf(
      withOAuth(`token_url: "http://auth.example/canary", refresh_token: "\${REFRESH}", colour: canary`),
      secrets,
    );
    expect(problems).toEqual([
      'accounts[0].credential.oauth.token_url: must be a URL that starts with https://, without a user name; http:// is allowed for addresses of this machine only',
      'accounts[0].credential.oauth.client_id: is missing',
      'accounts[0].credential.oauth.colour: this key does not exist',
    ]);
    expect(problems.join()).not.toContain('canary');
  });

  it.each(['https://me:secret@auth.example/token', 'https://auth.example/token#x', 'ftp://auth.example', 'auth'])(
    'has no token endpoint such as %s',
    (url) => {
      expect(problemsOf(withOAuth(`token_url: "${url}", client_id: me, refresh_token: "x"`))).toHaveLength(1);
    },
  );

  it('may be at an address of this machine without TLS', () => {
    expect(problemsOf(withOAuth('token_url: "http://127.0.0.1:8090/t", client_id: me, refresh_token: "x"'))).toEqual(
      [],
    );
  });
});
