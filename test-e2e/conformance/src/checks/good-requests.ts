import { setTimeout } from 'node:timers/promises';
import type { Scene } from '../check.ts';
import { hello } from '../formats/format.ts';
import { formats } from '../formats/formats.ts';
import type { PostEndpoint } from '../target/endpoints.ts';
import type { Answer, Ask } from '../target/gateway-client.ts';
import { must } from '../verdict.ts';

/** A request that the endpoint accepts. */
export function goodBody(scene: Scene, endpoint: PostEndpoint): Readonly<Record<string, unknown>> {
  const body = formats[endpoint].request(scene.modelOf(endpoint), hello);
  // JSON leaves out a field that is undefined.
  return endpoint === 'count-tokens' ? { ...body, max_tokens: undefined } : body;
}

/** The gateway's answer to it. */
export async function askWell(scene: Scene, endpoint: PostEndpoint, as: Ask['as'] = 'token'): Promise<Answer> {
  return await scene.gateway.ask(endpoint, { body: goodBody(scene, endpoint), as });
}

const tries = 24;
const pauseMs = 500;

/**
 * A gateway may pause accounts that have failed several times. A check that makes the provider fail
 * first waits until they serve again, and runs alone.
 */
export async function untilServed(scene: Scene, endpoint: PostEndpoint): Promise<void> {
  for (let left = tries; left > 0; left--) {
    const { status } = await askWell(scene, endpoint);
    if (status === 200) return;
    await setTimeout(pauseMs, undefined, { signal: scene.signal });
  }
  must(false, `a good request should be answered within ${(tries * pauseMs) / 1_000} s of failures; none is`);
}
