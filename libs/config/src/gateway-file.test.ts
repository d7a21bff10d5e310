import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import type { Environment } from './env-reader.ts';
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
        modelPatterns: ['gpt-*', 'o1*', 'o3*', 'o4*', 'codex-*'],
      },
      {
        name: 'messages',
        format: 'messages',
        ownedBy: 'provider_b',
        baseUrl: 'https://b.example/v1',
        modelPatterns: ['claude-*', 'my-*'],
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
    expect(first?.credential.secret.reveal()).toBe('sk-openai-canary');
    expect(second?.credential.secret.reveal()).toBe('sk-anthropic-canary');
  });

  it('never shows a secret when printed', () => {
    const config = load(goodFile);
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: null }),
      `${config.accounts[0]?.credential.secret}`,
    ];
    expect(printed.join()).toContain('[redacted]');
    expect(printed.join()).not.toContain('canary');
  });

  it('is frozen all the way down', () => {
    const config = load(goodFile);
    expect(() => Object.assign(config.classes[0]?.candidates[0] ?? {}, { model: 'x' })).toThrow(TypeError);
    expect(Object.isFrozen(config.settings)).toBe(true);
  });

  it('fills every setting that is left out', () => {
    const { settings } = load(goodFile);
    expect(settings).toMatchObject({ unauthorizedCooldownMs: 1_500, affinityTtlMs: 3_600_000, maxErrorAttempts: 3 });
    expect(Object.values(settings).every(Number.isFinite)).toBe(true);
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
      `accounts[3].credential.bearer: a reference is written \${NAME}, with the name of an environment variable`,
      'pools.responses.format: must be one of responses, messages',
      'pools.responses.base_url: must be a URL that starts with http:// or https://',
      'pools.responses.wheels: there is no such key',
      'pools.2b: must begin with a letter and hold only letters, digits, ".", "_" and "-"',
      `accounts[2].credential: must be either { bearer: "\${NAME}" } or { api_key: "\${NAME}" }`,
      'accounts[2].max_concurrency: must be a value of type number',
      'accounts[3].name: is missing',
      'accounts[3].colour: there is no such key',
      'classes.sterk.effort: must be one of none, minimal, low, medium, high, xhigh, max, ultra',
      'classes.sterk.candidates[1]: must be written pool/model',
      'settings.error_threshold: too big: expected number to be <=1',
      'colour: there is no such key',
      'accounts[2].pool: there is no such pool; the pools are responses, 2b',
      'accounts[1].name: accounts[0] has the same name in the same pool',
      'classes.sterk.candidates[0]: there is no such pool; the pools are responses, 2b',
    ]);
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

  it('says so when the file is empty, has no pools, or can not be read', () => {
    expect(problemsOf('')).toEqual(['the file: must be a value of type object']);
    expect(problemsOf('pools: {}')).toEqual(['pools: must hold at least one pool']);
    expect(() => loadGatewayFile(join(folder, 'absent.yaml'), env)).toThrow(
      /absent\.yaml: the file can't be read \(ENOENT\)/,
    );
  });
});
