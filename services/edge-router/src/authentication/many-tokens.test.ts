import { createTokenText } from '@gateway/tokens';
import { describe, expect, it } from 'vitest';
import { WholeEdge } from '../__fixtures__/whole-edge.ts';

describe('an edge to which hundreds of tokens are presented that it has not seen', () => {
  it('asks identity for sixteen at a time, and serves one that it knows meanwhile', async () => {
    await using edge = await WholeEdge.start();
    expect((await edge.get('/v1/models')).status).toBe(200);
    let running = 0;
    let most = 0;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    edge.beforeResolve = async () => {
      running += 1;
      most = Math.max(most, running);
      await held;
      running -= 1;
    };
    const present = () => edge.get('/v1/models', { authorization: `Bearer ${createTokenText('personal')}` });
    const others = Array.from({ length: 200 }, present);
    await expect.poll(() => running).toBe(16);
    expect((await edge.get('/v1/models')).status).toBe(200);
    letGo();
    const statuses = (await Promise.all(others)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(most).toBe(16);
  });
});
