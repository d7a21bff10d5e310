import type { Scene } from '../check.ts';
import { Found } from '../formats/found.ts';
import { type Endpoint, isMessages, postEndpoints } from '../target/endpoints.ts';
import type { Answer, Ask } from '../target/gateway-client.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustHaveStatus } from './errors.ts';
import { goodBody } from './good-requests.ts';
import { untilRefused, waitOf } from './operations-limits.ts';
import { type Promised, specifies } from './rules.ts';
import { mustHaveCode, mustHaveType } from './specification-errors.ts';

const names = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`);
const duration = /^(?=.)(\d+h)?(\d+m)?(\d+s)?$/;

/**
 * A token with a limit of requests per minute sees the state of its limit. The last checks use the
 * limit up.
 */
export const specificationLimits = specifies([
  ...postEndpoints.map(
    (endpoint): Promised => ({
      name: `spec-${endpoint}-limit-headers`,
      section: 'Limits',
      says: 'Rate-limit headers on every answer of the four endpoints, errors and 429s included, and before a stream starts; nowhere else.',
      needs: ['limited-token'],
      timeoutMs: 80_000,
      async run(scene) {
        const body = goodBody(scene, endpoint);
        let [left, after] = [0, 0];
        // Between two requests an older one may leave the window.
        for (let tries = 0; tries < 3 && after !== left - 1; tries++) {
          left = remainingIn(await askAdmitted(scene, endpoint, { body }), scene);
          const refused = await askAdmitted(scene, endpoint, { body: '{' });
          mustHaveStatus(refused, 400);
          after = remainingIn(refused, scene);
        }
        must(after === left - 1, `a request with 400 should take one of ${left}; ${after} are left`);
      },
    }),
  ),
  {
    name: 'spec-usage-takes-no-slot',
    endpoints: ['chat', 'usage', 'models'],
    section: 'GET /v1/usage',
    says: 'Counts toward no limit.',
    needs: ['limited-token'],
    timeoutMs: 80_000,
    async run(scene) {
      const body = goodBody(scene, 'chat');
      const before = remainingIn(await askAdmitted(scene, 'chat', { body }), scene);
      for (const endpoint of ['usage', 'usage', 'models'] as const) {
        const { headers } = await scene.gateway.ask(endpoint, {
          as: endpoint === 'usage' ? 'limited-token' : 'token',
        });
        const found = names.find((name) => name in headers);
        must(found === undefined, `${found} should not be in the answer of ${endpoint}`);
      }
      const after = remainingIn(await askAdmitted(scene, 'chat', { body }), scene);
      must(after >= before - 1, `one slot should be taken; ${before - after} are`);
    },
  },
  ...postEndpoints.map(
    (endpoint): Promised => ({
      name: `spec-${endpoint}-limit-refusal`,
      section: 'Limits',
      says: '429 over a token limit: `retry-after`, code, `limit`, `retryAt`; on Messages the type `rate_limit_error`.',
      needs: ['limited-token'],
      async run(scene) {
        const refused = await untilRefused(scene, endpoint);
        must(remainingIn(refused, scene) === 0, 'nothing of the limit should be left');
        const seconds = waitOf(refused);
        if (isMessages(endpoint)) return mustHaveType(refused, 429);
        mustHaveCode(refused, 429, 'rate_limit_exceeded');
        const error = new Found(refused.json(), 'the answer').at('error');
        error.at('limit').is('requests_per_minute');
        // The answer came at some time since.
        const afterMs = Date.parse(error.at('retryAt').name) - seconds * 1_000;
        const [earlyMs, lateMs] = [refused.askedAtMs - afterMs, afterMs - scene.clock.nowMs()];
        const offMs = Math.max(0, earlyMs, lateMs);
        must(offMs < 3_000, `retryAt should be ${seconds} s away, as retry-after; it is ${offMs} ms off`);
      },
    }),
  ),
]);

/** Waits once for the limit, which other checks may have used up. */
async function askAdmitted(scene: Scene, endpoint: Endpoint, ask: Ask): Promise<Answer> {
  const answer = await scene.gateway.ask(endpoint, { ...ask, as: 'limited-token' });
  if (answer.status !== 429) return answer;
  const seconds = waitOf(answer);
  if (seconds > 65) throw new NotApplicable(`the limit is used up for ${seconds} s`);
  await scene.clock.wait(seconds * 1_000, scene.signal);
  return await scene.gateway.ask(endpoint, { ...ask, as: 'limited-token' });
}

function remainingIn({ headers }: Answer, { limit }: Scene): number {
  const [stated, remaining, reset] = names.map((name) => {
    const value = headers[name];
    must(value !== undefined, `${name} should be in the answer; it is not`);
    return value;
  });
  must(stated === String(limit), `x-ratelimit-limit-requests should be ${limit}; it is ${stated}`);
  must(duration.test(reset ?? ''), `x-ratelimit-reset-requests should be a duration such as 42s; it is ${reset}`);
  const left = Number(remaining);
  must(Number.isInteger(left) && left >= 0 && left < limit, `remaining should be below ${limit}; it is ${remaining}`);
  return left;
}
