import { ConfigError } from '@gateway/config';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { gatewayWith, sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';
import { ActiveConfiguration } from './active-configuration.ts';
import { applyConfiguration } from './apply-configuration.ts';

const before = gatewayWith([sampleAccount('responses', 'a')]);
const after = gatewayWith([sampleAccount('responses', 'b')]);

function applying() {
  const store = new MemoryPoolStore(new ManualClock(0));
  const configuration = new ActiveConfiguration(before, store, new ManualClock(0));
  const reported: string[] = [];
  const events = {
    started: () => reported.push('started'),
    applied: () => reported.push('applied'),
    refused: () => reported.push('refused'),
    pausesKept: () => reported.push('pauses kept'),
  };
  const onReplaced = () => reported.push('replaced');
  return { store, configuration, reported, context: { store, configuration, events, onReplaced } };
}

describe('going over to another configuration', () => {
  it('is done and reported at once, though the store has yet to answer', () => {
    const { store, configuration, reported, context } = applying();
    store.changeHealth = () => new Promise(() => undefined);
    void applyConfiguration(context, after);
    expect(reported).toEqual(['replaced', 'applied']);
    expect(configuration.gateway).toBe(after);
  });

  it('succeeds when the store can not be reached', async () => {
    const { store, configuration, reported, context } = applying();
    store.changeHealth = () => Promise.reject(new Error('away'));
    await applyConfiguration(context, after);
    expect(reported).toEqual(['replaced', 'applied', 'pauses kept']);
    expect(configuration.gateway).toBe(after);
  });

  it('changes and reports nothing when it is not possible', async () => {
    const { configuration, reported, context } = applying();
    await expect(applyConfiguration(context, gatewayWith([]))).rejects.toThrow(ConfigError);
    expect(reported).toEqual([]);
    expect(configuration.gateway).toBe(before);
  });
});
