import { setTimeout } from 'node:timers/promises';
import { must, type Scene } from '../check.ts';
import { goodBodies, type PostEndpoint } from './good-bodies.ts';

const tries = 24;
const pauseMs = 500;

/**
 * A gateway may let accounts rest that have failed several times. A check that makes the provider fail begins when they serve
 * again, and is tried alone.
 */
export async function untilServed(scene: Scene, endpoint: PostEndpoint): Promise<void> {
  const body = goodBodies[endpoint](scene.modelOf(endpoint));
  for (let left = tries; left > 0; left--) {
    const { status } = await scene.gateway.ask(endpoint, { body });
    if (status === 200) return;
    await setTimeout(pauseMs, undefined, { signal: scene.signal });
  }
  must(false, `a good request should be answered within ${(tries * pauseMs) / 1_000} s of failures; none is`);
}
