import { describe, expect, it } from 'vitest';
import { gatewayWith, sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';
import { ActiveConfiguration } from './active-configuration.ts';

const before = gatewayWith([sampleAccount('responses', 'a')]);
const after = gatewayWith([sampleAccount('responses', 'b')]);

function applying() {
  const store = new MemoryPoolStore();
  const configuration = new ActiveConfiguration(before, store);
  const reported: string[] = [];
  const apply = () => configuration.use(after, () => reported.push('applied'));
  return { store, configuration, reported, apply };
}

describe('going over to another configuration', () => {
  it('is done and reported at once, though the store has yet to answer', () => {
    const { store, configuration, reported, apply } = applying();
    store.changeHealth = () => new Promise(() => undefined);
    void apply();
    expect(reported).toEqual(['applied']);
    expect(configuration.gateway).toBe(after);
  });

  it('succeeds when the store cannot be reached', async () => {
    const { store, configuration, reported, apply } = applying();
    store.changeHealth = () => Promise.reject(new Error('away'));
    await apply();
    expect(reported).toEqual(['applied']);
    expect(configuration.gateway).toBe(after);
  });
});
