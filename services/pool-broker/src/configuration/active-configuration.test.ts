import type { AccountConfig, GatewayConfig, PoolFormat } from '@gateway/config';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount, sampleGateway } from '../__fixtures__/sample-gateway.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';
import { ActiveConfiguration } from './active-configuration.ts';

const { leaseTtlMs } = sampleGateway.settings;
const [responses = expect.fail(), messages = expect.fail()] = sampleGateway.pools;
const any: readonly PoolFormat[] = [];

function configurationOf(gateway: GatewayConfig) {
  const time = new ManualTime(1_000_000);
  onTestFinished(() => time[Symbol.dispose]());
  return { time, configuration: new ActiveConfiguration(gateway, new MemoryPoolStore()) };
}

const accounts = (...names: string[]) => names.map((name) => sampleAccount('responses', name));
const statesOf = ({ accounts }: ActiveConfiguration) =>
  accounts.all.map(({ id, state }) => `${id} ${state}`).toSorted();
const idsOfPool = ({ accounts }: ActiveConfiguration, pool: string) => accounts.ofPool(pool).map(({ id }) => id);

describe('an account that is removed', () => {
  it('drains for as long as leases of it may be out, then is forgotten', () => {
    const { configuration, time } = configurationOf(gatewayWith(accounts('a', 'b')));
    configuration.replace(gatewayWith(accounts('b')));
    expect(statesOf(configuration)).toEqual(['responses/a draining', 'responses/b active']);
    time.advanceMs(leaseTtlMs - 1);
    expect(configuration.accounts.byId('responses/a')?.state).toBe('draining');
    time.advanceMs(1);
    expect(configuration.accounts.byId('responses/a')).toBeUndefined();
    expect(statesOf(configuration)).toEqual(['responses/b active']);
  });

  it('is no account of its pool any more while the pool has another', () => {
    const { configuration } = configurationOf(gatewayWith(accounts('a', 'b')));
    configuration.replace(gatewayWith(accounts('b')));
    expect(idsOfPool(configuration, 'responses')).toEqual(['responses/b']);
    configuration.replace(gatewayWith([sampleAccount('messages', 'c')]));
    expect(idsOfPool(configuration, 'responses')).toEqual(['responses/a', 'responses/b']);
  });

  it('keeps its time when other things change meanwhile', () => {
    const { configuration, time } = configurationOf(gatewayWith(accounts('a', 'b', 'c')));
    configuration.replace(gatewayWith(accounts('b', 'c')));
    time.advanceMs(leaseTtlMs - 1);
    configuration.replace(gatewayWith(accounts('c')));
    time.advanceMs(1);
    expect(statesOf(configuration)).toEqual(['responses/b draining', 'responses/c active']);
  });

  it('is back at once when it is configured again', () => {
    const { configuration, time } = configurationOf(gatewayWith(accounts('a', 'b')));
    configuration.replace(gatewayWith(accounts('b')));
    configuration.replace(gatewayWith(accounts('a', 'b')));
    expect(statesOf(configuration)).toEqual(['responses/a active', 'responses/b active']);
    time.advanceMs(2 * leaseTtlMs);
    expect(statesOf(configuration)).toEqual(['responses/a active', 'responses/b active']);
  });

  it('is gone at once when it was disabled before', () => {
    const disabled = sampleAccount('responses', 'a', { state: 'disabled' });
    const { configuration } = configurationOf(gatewayWith([disabled, ...accounts('b')]));
    configuration.replace(gatewayWith(accounts('b')));
    expect(statesOf(configuration)).toEqual(['responses/b active']);
  });
});

describe('a pool that is removed', () => {
  const onlyMessages: readonly AccountConfig[] = [sampleAccount('messages', 'a')];

  it('is listed for as long as leases of it may be out, but routes nothing', () => {
    const { configuration, time } = configurationOf(sampleGateway);
    configuration.replace(gatewayWith(onlyMessages, { pools: [messages], classes: [] }));
    const names = () => configuration.catalog.pools.map(({ name }) => name);
    expect(names()).toEqual(['messages', 'responses']);
    expect(configuration.catalog.resolve('gpt-5.5', any)).toEqual([]);
    time.advanceMs(leaseTtlMs);
    expect(names()).toEqual(['messages']);
  });

  it('comes back without what was known of its models', async () => {
    const { configuration, time } = configurationOf(sampleGateway);
    const { catalog } = configuration;
    await catalog.report('responses', [{ id: 'odd-name', displayName: '' }]);
    expect(catalog.resolve('odd-name', any)).toHaveLength(1);
    const withoutIt = gatewayWith(onlyMessages, { pools: [messages], classes: [] });
    configuration.replace(withoutIt);
    time.advanceMs(leaseTtlMs);
    configuration.replace(withoutIt);
    configuration.replace(sampleGateway);
    expect(catalog.resolve('odd-name', any)).toEqual([]);
  });
});

describe('another configuration', () => {
  it('routes new requests only: a candidate that is in use stays as it is', () => {
    const { configuration } = configurationOf(sampleGateway);
    const [inUse = expect.fail()] = configuration.catalog.resolve('gateway/sterk', any);
    const [sterk = expect.fail(), ...others] = sampleGateway.classes;
    const candidates = [{ pool: 'messages', model: 'claude-9' }];
    configuration.replace({ ...sampleGateway, classes: [{ ...sterk, candidates, effort: 'low' }, ...others] });
    expect(inUse).toMatchObject({ pool: { name: 'responses' }, model: 'gpt-5.5', defaultEffort: 'high' });
    expect(configuration.catalog.resolve('gateway/sterk', any)).toMatchObject([
      { pool: { name: 'messages' }, model: 'claude-9', defaultEffort: 'low' },
    ]);
  });

  it('has its own settings', () => {
    const { configuration } = configurationOf(sampleGateway);
    const settings = { ...sampleGateway.settings, maxErrorAttempts: 7 };
    configuration.replace({ ...sampleGateway, settings });
    expect(configuration.settings.maxErrorAttempts).toBe(7);
  });

  it('is seen by a watcher of the listing', async () => {
    const { configuration } = configurationOf(sampleGateway);
    const stop = new AbortController();
    const watch = configuration.catalog.watch(stop.signal);
    const ids = ({ models }: { readonly models: readonly { readonly id: string }[] }) => models.map(({ id }) => id);
    expect(ids((await watch.next()).value)).toContain('gateway/sterk');
    const next = watch.next();
    configuration.replace({ ...sampleGateway, classes: sampleGateway.classes.slice(1) });
    expect(ids((await next).value)).not.toContain('gateway/sterk');
    stop.abort();
  });

  it('may send the requests of a pool elsewhere', () => {
    const { configuration } = configurationOf(sampleGateway);
    configuration.replace({ ...sampleGateway, pools: [{ ...responses, baseUrl: 'http://other/v1' }, messages] });
    expect(configuration.catalog.pools.map(({ baseUrl }) => baseUrl)).toEqual([
      'http://other/v1',
      'http://127.0.0.1:1/v1',
    ]);
  });
});
