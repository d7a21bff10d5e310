import type { GatewayConfig, PoolFormat } from '@gateway/config';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount, sampleGateway } from '../__fixtures__/sample-gateway.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';
import { Catalog } from './catalog.ts';

const refreshMs = sampleGateway.settings.modelListRefreshMs;
const any: readonly PoolFormat[] = [];

function catalogOf(gateway: GatewayConfig = sampleGateway) {
  const time = new ManualTime(1_000_000);
  onTestFinished(() => time[Symbol.dispose]());
  const store = new MemoryPoolStore();
  return { time, store, catalog: new Catalog(gateway, store) };
}

const models = (...ids: string[]) => ids.map((id) => ({ id, displayName: '' }));
const ids = (catalog: Catalog) => catalog.listing().map(({ id }) => id);
const meaning = (catalog: Catalog, model: string, formats: readonly PoolFormat[] = any) =>
  catalog.resolve(model, formats).map(({ pool, model: id }) => `${pool.name}/${id}`);

const classIds = ['gateway/sterk', 'gateway/snel', 'gateway/claude'];

describe('the listing', () => {
  it('has classes first, then Responses models, then Messages models', async () => {
    const { catalog } = catalogOf();
    await catalog.report('messages', models('claude-opus-4-8', 'claude-haiku-4-5-20251001'));
    await catalog.report('responses', models('gpt-5.5', 'gpt-5.5-mini'));
    expect(catalog.listing()).toMatchObject([
      { id: 'gateway/sterk', ownedBy: 'gateway', name: 'Sterk', candidates: ['gpt-5.5', 'claude-opus-4-8'] },
      { id: 'gateway/snel', ownedBy: 'gateway', name: 'Snel', candidates: ['gpt-5.5-mini', 'claude-haiku-4-5'] },
      { id: 'gateway/claude', ownedBy: 'gateway', name: 'Claude', candidates: ['claude-sonnet-5'] },
      { id: 'gpt-5.5', ownedBy: 'provider_a', name: 'GPT-5.5', candidates: ['gpt-5.5'] },
      { id: 'gpt-5.5-mini', ownedBy: 'provider_a', name: 'GPT-5.5 mini', candidates: ['gpt-5.5-mini'] },
      { id: 'claude-opus-4-8', ownedBy: 'provider_b', name: 'Claude Opus 4.8', candidates: ['claude-opus-4-8'] },
      {
        id: 'claude-haiku-4-5-20251001',
        ownedBy: 'provider_b',
        name: 'Claude Haiku 4.5',
        candidates: ['claude-haiku-4-5-20251001'],
      },
    ]);
  });

  it('falls back to what classes use of the Responses pool, and to nothing of the Messages pool', async () => {
    const { catalog } = catalogOf();
    const unreachable = [...classIds, 'gpt-5.5', 'gpt-5.5-mini'];
    expect(ids(catalog)).toEqual(unreachable);
    await catalog.report('responses', models('gpt-6'));
    await catalog.report('messages', models('claude-9'));
    expect(ids(catalog)).toEqual([...classIds, 'gpt-6', 'claude-9']);
    await catalog.report('responses', undefined);
    await catalog.report('messages', undefined);
    expect(ids(catalog)).toEqual(unreachable);
  });

  it('takes a pool for unreachable when there is no report on it for three times the refresh', async () => {
    const { catalog, time } = catalogOf();
    await catalog.report('messages', models('claude-9'));
    time.advanceMs(3 * refreshMs);
    expect(ids(catalog)).toContain('claude-9');
    time.advanceMs(1);
    expect(ids(catalog)).not.toContain('claude-9');
  });

  it('goes by the longer of the refreshes of now and of when a report came, so that a change empties nothing', async () => {
    const withRefresh = (modelListRefreshMs: number) => ({
      ...sampleGateway,
      settings: { ...sampleGateway.settings, modelListRefreshMs },
    });
    const { catalog, time } = catalogOf();
    await catalog.report('messages', models('claude-9'));
    catalog.configure(withRefresh(1_000));
    time.advanceMs(3 * refreshMs);
    expect(ids(catalog)).toContain('claude-9');
    time.advanceMs(1);
    expect(ids(catalog)).not.toContain('claude-9');
    await catalog.report('messages', models('claude-9'));
    time.advanceMs(3_001);
    expect(ids(catalog)).not.toContain('claude-9');
    catalog.configure(withRefresh(10_000));
    expect(ids(catalog)).toContain('claude-9');
    catalog.configure(withRefresh(1_000));
    expect(ids(catalog)).toContain('claude-9');
    await catalog.refresh();
    expect(ids(catalog)).toContain('claude-9');
    time.advanceMs(27_000);
    expect(ids(catalog)).not.toContain('claude-9');
  });

  it('leaves out pools without accounts and classes that only they could serve', async () => {
    const { catalog } = catalogOf(gatewayWith([sampleAccount('responses', 'a')]));
    await catalog.report('messages', models('claude-9'));
    expect(ids(catalog)).toEqual(['gateway/sterk', 'gateway/snel', 'gpt-5.5', 'gpt-5.5-mini']);
    expect(meaning(catalog, 'gateway/claude')).toEqual([]);
    expect(meaning(catalog, 'gateway/sterk')).toEqual(['responses/gpt-5.5']);
  });

  it('shows what another replica was sent', async () => {
    const { catalog, store } = catalogOf();
    const other = new Catalog(sampleGateway, store);
    await other.report('messages', models('claude-9'));
    expect(ids(catalog)).not.toContain('claude-9');
    await catalog.refresh();
    expect(ids(catalog)).toContain('claude-9');
  });
});

describe('a class', () => {
  it('means its candidates in order, those of the formats that the endpoint speaks', () => {
    const { catalog } = catalogOf();
    expect(meaning(catalog, 'gateway/sterk')).toEqual(['responses/gpt-5.5', 'messages/claude-opus-4-8']);
    expect(meaning(catalog, 'gateway/sterk', ['messages'])).toEqual(['messages/claude-opus-4-8']);
    expect(meaning(catalog, 'gateway/claude', ['responses'])).toEqual([]);
    expect(meaning(catalog, 'gateway/nothing')).toEqual([]);
    expect(catalog.resolve('gateway/snel', any)[0]?.defaultEffort).toBe('low');
  });
});

describe('a direct model', () => {
  it('belongs to the pool whose list has it, by its dated or undated id', async () => {
    const { catalog } = catalogOf();
    await catalog.report('messages', models('odd-name', 'claude-x-20260101'));
    expect(meaning(catalog, 'odd-name')).toEqual(['messages/odd-name']);
    expect(meaning(catalog, 'claude-x')).toEqual(['messages/claude-x']);
    expect(meaning(catalog, 'odd-name', ['responses'])).toEqual([]);
  });

  it('that a current list does not have is unknown, unless a class uses it', async () => {
    const { catalog } = catalogOf();
    await catalog.report('responses', models('gpt-6'));
    expect(meaning(catalog, 'gpt-7')).toEqual([]);
    expect(meaning(catalog, 'gpt-5.5')).toEqual(['responses/gpt-5.5']);
  });

  it('is routed by the last known list and by patterns while the list is not current', async () => {
    const { catalog } = catalogOf();
    expect(meaning(catalog, 'gpt-7')).toEqual(['responses/gpt-7']);
    expect(meaning(catalog, 'claude-9')).toEqual(['messages/claude-9']);
    expect(meaning(catalog, 'llama')).toEqual([]);
    await catalog.report('messages', models('llama'));
    await catalog.report('messages', undefined);
    expect(meaning(catalog, 'llama')).toEqual(['messages/llama']);
  });

  it('that only a pattern fits is marked as one that nothing lists', async () => {
    const { catalog } = catalogOf();
    const isUnlisted = (model: string) => catalog.resolve(model, any)[0]?.isUnlisted ?? false;
    await catalog.report('messages', models('claude-9'));
    expect(['gpt-7', 'gpt-5.5', 'claude-9', 'gateway/sterk'].map(isUnlisted)).toEqual([true, false, false, false]);
    await catalog.report('messages', undefined);
    expect(['claude-9', 'claude-10'].map(isUnlisted)).toEqual([false, true]);
  });

  it('means what is known of models at that time', async () => {
    const { catalog, time } = catalogOf();
    await catalog.report('responses', models('gpt-6'));
    expect(meaning(catalog, 'gpt-7')).toEqual([]);
    time.advanceMs(3 * refreshMs);
    expect(meaning(catalog, 'gpt-7')).toEqual([]);
    time.advanceMs(1);
    expect(meaning(catalog, 'gpt-7')).toEqual(['responses/gpt-7']);
    await catalog.report('responses', models('gpt-6'));
    expect(meaning(catalog, 'gpt-7')).toEqual([]);
    catalog.configure(gatewayWith([sampleAccount('messages', 'a')]));
    expect(meaning(catalog, 'gpt-6')).toEqual([]);
  });
});

describe('watching the catalog', () => {
  it('gives listing and prices at once, then every change, then ends with its signal', async () => {
    const { catalog, time } = catalogOf();
    const stop = new AbortController();
    const watch = catalog.watch(stop.signal);
    expect((await watch.next()).value?.models).toHaveLength(5);
    const next = watch.next();
    await catalog.report('responses', undefined); // changes nothing in the listing
    await catalog.report('messages', models('claude-9'));
    expect((await next).value?.models).toHaveLength(6);
    // Reported while the watcher does not wait.
    await catalog.report('messages', models('claude-9', 'claude-10'));
    expect((await watch.next()).value?.models).toHaveLength(7);
    time.advanceMs(3 * refreshMs + 1);
    const expired = watch.next();
    await catalog.refresh();
    expect((await expired).value?.models).toHaveLength(5);
    const priced = watch.next();
    const prices = { currency: 'EUR', models: [] };
    catalog.configure({ ...gatewayWith([sampleAccount('responses', 'a'), sampleAccount('messages', 'a')]), prices });
    expect((await priced).value?.prices).toEqual(prices);
    const last = watch.next();
    stop.abort();
    expect((await last).done).toBe(true);
  });
});
