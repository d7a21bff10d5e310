import { once } from 'node:events';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type PoolBrokerService, WatchCatalogResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Pricing, watchCatalog } from './pricing.ts';

type Catalog = MessageInitShape<typeof WatchCatalogResponseSchema>;

const day = '2026-11-20';
const oneToken = { cachedTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: 0 };
const costIn = ({ prices }: Pricing) => prices.costOf('m', { ...oneToken, inputTokens: 1_000_000 }, day);
const catalogWith = (inputMicros: number): Catalog => ({
  models: [{ id: 'gateway/class', candidates: ['m', 'n'] }],
  prices: { currency: 'EUR', prices: [{ model: '*', inputMicros }] },
});

/** Each stream sends its catalogs; then it fails, or the last one stays open. */
function follow(streams: readonly (readonly Catalog[])[]) {
  const stop = new AbortController();
  const pricing = new Pricing();
  const costs: (number | undefined)[] = [];
  const left = [...streams];
  async function* watch(_request: object, { signal }: { readonly signal: AbortSignal }) {
    for (const catalog of left.shift() ?? []) yield create(WatchCatalogResponseSchema, catalog);
    if (left.length > 0) throw new Error('the broker is away');
    await once(signal, 'abort');
  }
  const broker = { watchCatalog: watch } as unknown as Pick<Client<typeof PoolBrokerService>, 'watchCatalog'>;
  const use: Pricing['use'] = (catalog) => {
    pricing.use(catalog);
    costs.push(costIn(pricing));
  };
  const watching = watchCatalog(broker, [{ use }], stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await watching;
  });
  return { pricing, costs };
}

describe('prices of an edge', () => {
  it('are none until the broker is reached, and then those it sent last, also after it was away', async () => {
    expect(costIn(new Pricing())).toBeUndefined();
    const { pricing, costs } = follow([[catalogWith(1), catalogWith(2)], [], [catalogWith(3)]]);
    await expect.poll(() => costs).toEqual([1, 2, 3]);
    expect(costIn(pricing)).toBe(3);
  });

  it('name the models that can answer for a class; another id stands for itself', async () => {
    const { pricing } = follow([[catalogWith(1)]]);
    await expect.poll(() => pricing.candidatesOf('gateway/class')).toEqual(['m', 'n']);
    expect(pricing.candidatesOf('gpt-5.5')).toEqual(['gpt-5.5']);
  });
});
