import type { Scene } from '../check.ts';
import { type PostEndpoint, postEndpoints } from '../target/endpoints.ts';
import type { Answer } from '../target/gateway-client.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustBeError } from './errors.ts';
import { askWell } from './good-requests.ts';
import type { Rule } from './rules.ts';

const retryAfter = 'https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3';
const tooManyRequests = 'https://www.rfc-editor.org/rfc/rfc6585#section-4';

/** After this time no earlier request counts. */
const windowMs = 61_000;

/**
 * A token with few requests a minute. The order matters: the first check uses the limit up, the
 * next checks find it used up, and the last one waits until it is free again.
 */
export const operationsLimits: readonly Rule[] = [
  {
    name: 'chat-limit-admits-exactly-the-limit',
    rule: "Of concurrent requests, exactly as many are admitted as the token's limit allows.",
    source: tooManyRequests,
    needs: ['limited-token'],
    timeoutMs: windowMs + 20_000,
    alone: true,
    async run(scene) {
      const { limit } = scene;
      const admitted = await admittedOfBurst(scene, limit + 3);
      if (admitted === limit) return;
      must(admitted < limit, `${limit} of ${limit + 3} requests should be admitted; ${admitted} are`);
      // The token may have been used a short while ago.
      await scene.clock.wait(windowMs, scene.signal);
      const again = await admittedOfBurst(scene, limit + 3);
      must(again === limit, `${limit} of ${limit + 3} requests should be admitted; ${again} are`);
    },
  },
  ...postEndpoints.map(
    (endpoint): Rule => ({
      name: `${endpoint}-limit-refuses-with-429`,
      rule: 'A request over the limit is rejected with 429, the error object of the format and `retry-after`.',
      source: tooManyRequests,
      needs: ['limited-token'],
      async run(scene) {
        const refused = await untilRefused(scene, endpoint);
        mustBeError(endpoint, refused, [429]);
        waitOf(refused);
      },
    }),
  ),
  {
    name: 'chat-retry-after-is-honest',
    rule: 'A request after `retry-after` is admitted, and one clearly before it is not.',
    source: retryAfter,
    needs: ['limited-token'],
    timeoutMs: 100_000,
    async run(scene) {
      const refused = await untilRefused(scene, 'chat');
      const refusedAtMs = scene.clock.nowMs();
      const waitMs = waitOf(refused) * 1_000;
      if (waitMs > 80_000) throw new NotApplicable(`retry-after is ${waitMs / 1_000} s, longer than this check waits`);
      const earlyMs = Math.max(0, waitMs - 1_500);
      await scene.clock.wait(earlyMs, scene.signal);
      const early = await askWell(scene, 'chat', 'limited-token');
      // The time was rounded up to a second. A request that a busy machine sent later than that
      // proves nothing about the gateway.
      const isEarly = scene.clock.nowMs() - refusedAtMs < waitMs - 1_000;
      if (isEarly) must(early.status === 429, `a request ${waitMs - earlyMs} ms early has status ${early.status}`);
      await scene.clock.wait(waitMs - earlyMs, scene.signal);
      const late = await askWell(scene, 'chat', 'limited-token');
      must(late.status === 200, `after retry-after a request should be admitted; its status is ${late.status}`);
    },
  },
];

async function admittedOfBurst(scene: Scene, requests: number): Promise<number> {
  const answers = await Promise.all(Array.from({ length: requests }, () => askWell(scene, 'chat', 'limited-token')));
  const other = answers.find(({ status }) => status !== 200 && status !== 429);
  must(other === undefined, `each status should be 200 or 429; one is ${other?.status}`);
  return answers.filter(({ status }) => status === 200).length;
}

/** An answer, and the time of its request. */
export interface Refused extends Answer {
  readonly askedAtMs: number;
}

/** The first refused request: the limit may be used up already. */
export async function untilRefused(scene: Scene, endpoint: PostEndpoint): Promise<Refused> {
  for (let requests = 0; requests <= scene.limit; requests++) {
    const askedAtMs = scene.clock.nowMs();
    const answer = await askWell(scene, endpoint, 'limited-token');
    if (answer.status !== 200) return { ...answer, askedAtMs };
  }
  throw new NotApplicable('the limit was not reached; its own check reports this');
}

/** Seconds; `retry-after` may also be a date. */
export function waitOf({ headers }: Answer): number {
  const text = headers['retry-after'];
  must(text !== undefined, 'retry-after should be in the answer; it is not');
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1_000);
  must(seconds >= 0, `retry-after should be seconds or a date; it is ${text}`);
  return seconds;
}
