import { afterAll, beforeAll, describe } from 'vitest';
import { adapterFaults } from './pools/adapter-faults.ts';
import { aftermathOf } from './pools/aftermath.ts';
import { brokerFaults } from './pools/broker-faults.ts';
import { PoolScene } from './pools/pool-scene.ts';
import { providerFaults } from './pools/provider-faults.ts';
import { tokenFaults } from './pools/token-faults.ts';

const isLong = process.env.FAULTS === 'long';

describe('account pools under load', () => {
  let opened: PoolScene | undefined;
  const scene = () => {
    if (opened === undefined) throw new Error('the scene is not open');
    return opened;
  };
  beforeAll(async () => {
    opened = await PoolScene.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
  });

  brokerFaults(scene, { rounds: isLong ? 4 : 1 });
  adapterFaults(scene);
  tokenFaults(scene, { rounds: isLong ? 3 : 1, isLong });
  // Faults of providers take minutes to show.
  if (isLong) providerFaults(scene, { outageSeconds: 12 });
  aftermathOf(scene);
});
