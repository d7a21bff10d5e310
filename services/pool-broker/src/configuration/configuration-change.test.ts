import { type AccountConfig, ConfigError, type GatewayConfig, Secret } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { gatewayWith, sampleAccount, sampleGateway } from '../__fixtures__/sample-gateway.ts';
import { changeBetween, checkChange } from './active-configuration.ts';

const none = { added: [], removed: [], changed: [] };
const bearer = (text: string) => ({ credential: { kind: 'bearer' as const, secret: new Secret(text) } });

function accountsChange(before: readonly AccountConfig[], after: readonly AccountConfig[]) {
  const { accounts, newCredentials } = changeBetween(gatewayWith(before), gatewayWith(after));
  return { ...accounts, newCredentials };
}

describe('a change of the configuration', () => {
  it('is nothing between equals', () => {
    const again: GatewayConfig = gatewayWith(
      sampleGateway.accounts.map((account) => ({ ...account })),
      { pools: structuredClone(sampleGateway.pools) },
    );
    expect(changeBetween(sampleGateway, again)).toEqual({
      pools: none,
      accounts: none,
      classes: none,
      newCredentials: [],
      newAddresses: [],
    });
  });

  it('names what came, went and became something else', () => {
    const before = ['a', 'b', 'c'].map((name) => sampleAccount('responses', name, bearer(name)));
    const after = [
      sampleAccount('responses', 'b', bearer('b')),
      sampleAccount('responses', 'c', { ...bearer('c'), state: 'draining' }),
      sampleAccount('messages', 'a', bearer('a')),
    ];
    expect(accountsChange(before, after)).toEqual({
      added: ['messages/a'],
      removed: ['responses/a'],
      changed: ['responses/c'],
      newCredentials: [],
    });
  });

  it('sees another secret, and another kind of credential, though none of them is shown', () => {
    const before = ['a', 'b', 'c'].map((name) => sampleAccount('responses', name, bearer('old')));
    const change = accountsChange(before, [
      sampleAccount('responses', 'a', bearer('new')),
      sampleAccount('responses', 'b', { credential: { kind: 'api_key', secret: new Secret('old') } }),
      sampleAccount('responses', 'c', bearer('old')),
    ]);
    expect(change).toMatchObject({
      changed: ['responses/a', 'responses/b'],
      newCredentials: ['responses/a', 'responses/b'],
    });
    expect(JSON.stringify(change)).not.toContain('new"');
  });

  it('names the accounts of a pool that gets another address', () => {
    const [responses = expect.fail(), messages = expect.fail()] = sampleGateway.pools;
    const accounts = [sampleAccount('responses', 'a'), sampleAccount('messages', 'a')];
    const pools = [{ ...responses, baseUrl: 'http://127.0.0.1:3/v1' }, messages];
    const { newAddresses } = changeBetween(gatewayWith(accounts), gatewayWith(accounts, { pools }));
    expect(newAddresses).toEqual(['responses/a']);
  });

  it('sees another refresh token', () => {
    const withToken = (text: string) =>
      sampleAccount('responses', 'a', {
        credential: {
          kind: 'oauth',
          tokenUrl: 'https://x',
          clientId: 'me',
          clientSecret: undefined,
          refreshToken: new Secret(text),
          scopes: [],
        },
      });
    expect(accountsChange([withToken('one')], [withToken('two')]).newCredentials).toEqual(['responses/a']);
    expect(accountsChange([withToken('one')], [withToken('one')]).newCredentials).toEqual([]);
  });

  it('names pools and classes that are otherwise', () => {
    const [responses = expect.fail(), messages = expect.fail()] = sampleGateway.pools;
    const [sterk = expect.fail(), ...others] = sampleGateway.classes;
    const change = changeBetween(sampleGateway, {
      ...sampleGateway,
      pools: [{ ...responses, baseUrl: 'http://other' }, messages, { ...messages, name: 'more' }],
      classes: [{ ...sterk, effort: 'low' }, ...others.slice(1)],
    });
    expect(change.pools).toEqual({ added: ['more'], removed: [], changed: ['responses'] });
    expect(change.classes).toEqual({ added: [], removed: ['gateway/snel'], changed: ['gateway/sterk'] });
  });
});

describe('a configuration that cannot be gone over to', () => {
  const [responses = expect.fail(), messages = expect.fail()] = sampleGateway.pools;

  const refusal = (problem: string) => new ConfigError([problem]);

  it('has a pool of another format than before', () => {
    const pools = [{ ...responses, format: 'messages' as const }, messages];
    expect(() => checkChange(sampleGateway, { ...sampleGateway, pools })).toThrow(
      refusal(
        'pools.responses.format: cannot change while the gateway runs. Give the pool another name, or restart the gateway',
      ),
    );
  });

  it('has no account', () => {
    expect(() => checkChange(sampleGateway, gatewayWith([]))).toThrow(
      refusal('accounts: no account is configured, so no request could be served'),
    );
  });

  it('is not one with everything else changed', () => {
    const next = gatewayWith([sampleAccount('other', 'a')], { pools: [{ ...messages, name: 'other' }], classes: [] });
    expect(() => checkChange(sampleGateway, next)).not.toThrow();
  });
});
