import { describe, expect, it } from 'vitest';
import { accountSourceOf, defaultGatewayConfig, simulatedGatewayConfig } from './default-gateway.ts';
import type { Credential, GatewayConfig } from './gateway-config.ts';
import { gatewayJsonSchema } from './gateway-schema.ts';

describe('the default gateway', () => {
  it('has an account for each key that is set', () => {
    const accountsWith = (env: Record<string, string>) =>
      defaultGatewayConfig(env).accounts.map(({ pool, credential }) => [pool, credential.kind, secretOf(credential)]);
    expect(accountsWith({})).toEqual([]);
    expect(accountsWith({ OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: ' ' })).toEqual([['responses', 'bearer', 'a']]);
    expect(accountsWith({ ANTHROPIC_API_KEY: 'b' })).toEqual([['messages', 'api_key', 'b']]);
  });

  it('refuses a key that could not be sent, without showing it', () => {
    const load = () => defaultGatewayConfig({ OPENAI_API_KEY: 'sk-canary sk-other' });
    expect(load).toThrow(/^OPENAI_API_KEY contains spaces/);
    expect(load).not.toThrow(/canary/);
  });

  it('has three classes whatever is set', () => {
    expect(defaultGatewayConfig({}).classes.map(({ id }) => id)).toEqual([
      'gateway/sterk',
      'gateway/snel',
      'gateway/claude',
    ]);
  });
});

describe('the simulated gateway', () => {
  it('has two accounts in each pool, at the simulator', () => {
    const config = simulatedGatewayConfig('http://127.0.0.1:9999/');
    expect(config.pools.map(({ baseUrl }) => baseUrl)).toEqual([
      'http://127.0.0.1:9999/v1',
      'http://127.0.0.1:9999/v1',
    ]);
    expect(config.accounts.map(({ pool, name }) => `${pool}/${name}`).sort()).toEqual([
      'messages/team-a',
      'messages/team-b',
      'responses/team-a',
      'responses/team-b',
    ]);
    expect(new Set(config.accounts.map(({ credential }) => secretOf(credential))).size).toBe(4);
  });

  it('says that it is simulated, and the other one does not', () => {
    const marksOf = ({ pools }: GatewayConfig) => pools.map(({ simulated }) => simulated);
    expect(marksOf(simulatedGatewayConfig('http://a'))).toEqual([true, true]);
    expect(marksOf(defaultGatewayConfig({}))).toEqual([false, false]);
  });
});

it('names where an account is defined', () => {
  const ofKeys = defaultGatewayConfig({});
  const file = { path: 'gateway.yaml', digest: '', digestNow: () => '', load: () => ofKeys };
  expect([
    accountSourceOf(ofKeys, { pool: 'responses' }),
    accountSourceOf(ofKeys, { pool: 'messages' }),
    accountSourceOf(simulatedGatewayConfig('http://a'), { pool: 'messages' }),
    accountSourceOf({ ...ofKeys, source: file }, { pool: 'messages' }),
    accountSourceOf({ ...ofKeys, source: file }, { pool: 'messages', isStored: true }),
  ]).toEqual(['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'simulator', 'gateway.yaml', 'database']);
});

describe('the JSON Schema of gateway.yaml', () => {
  it('asks only for pools and knows no keys but the documented ones', () => {
    expect(gatewayJsonSchema()).toMatchObject({
      title: 'gateway.yaml',
      required: ['pools'],
      additionalProperties: false,
      properties: { settings: { properties: { affinity_ttl_seconds: { default: 3_600 } } } },
    });
  });
});

function secretOf(credential: Credential): string {
  return credential.kind === 'oauth' ? expect.fail('it is no plain secret') : credential.secret.reveal();
}
