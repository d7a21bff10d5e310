import type { FaultScript } from '@gateway/simulator';
import { describe, expect, it } from 'vitest';
import { loggedRequestsOf } from '../../client/request-log.ts';
import type { RequestKind } from '../load/request-kinds.ts';
import { unavailable } from './expectations.ts';
import { accountsOf, type ScenarioPool } from './gateway-file.ts';
import { chatStream, chatWhole, messagesStream, messagesWhole } from './kinds.ts';
import type { AskedExchange, PoolScene } from './pool-scene.ts';

/** Words of a provider's answer that no client may see. */
const canary = 'canary 4711';

const mostAttempts = 3;

/** A Messages client's body for a provider's error. */
const refusedMessages = {
  type: 'error',
  error: { type: 'api_error', code: 'subscription_upstream_error', message: expect.any(String) },
};

/** A page comes from a proxy between us and the provider. */
const pages = [
  [
    'a page',
    { kind: 'status', status: 200, headers: { 'content-type': 'text/html' }, body: `<h1>${canary}</h1>` },
    'ATTEMPT_RESULT_NETWORK_ERROR',
  ],
  [
    'nothing',
    { kind: 'status', status: 200, headers: { 'content-type': 'application/json' }, body: '' },
    'ATTEMPT_RESULT_SERVER_ERROR',
  ],
  [
    'no events',
    { kind: 'status', status: 200, headers: { 'content-type': 'text/event-stream' }, body: '' },
    'ATTEMPT_RESULT_SERVER_ERROR',
  ],
] as const satisfies readonly (readonly [string, FaultScript['fault'], string])[];

/**
 * Providers that can't be reached, refuse, or send no valid answer: the client's answer has not
 * begun yet.
 */
export function providerRefusals(scene: () => PoolScene): void {
  describe('a provider that refuses connections', () => {
    it('is passed over for the next candidate', async () => {
      const { exchange } = await scene().askToEnd({ kind: chatStream('closed-or-open') });
      expect(exchange.ending).toBe('whole');
      expect(exchange.headers['x-gateway-provider']).toBe('provider_a');
    });

    it('is a 503 after at most three attempts when there is no other', async () => {
      const chat = await scene().askToEnd({ kind: chatWhole('closed') });
      expect([chat.exchange.status, chat.exchange.json]).toEqual([503, unavailable.chat]);
      const messages = await scene().askToEnd({ kind: messagesWhole('closed') });
      expect([messages.exchange.status, messages.exchange.json]).toEqual([503, unavailable.messages]);
      expect((await attemptsLogged(scene(), chat)).map(({ result }) => result)).toContain(
        'ATTEMPT_RESULT_NETWORK_ERROR',
      );
      expect((await attemptsLogged(scene(), chat)).length).toBeLessThanOrEqual(mostAttempts);
      expect((await attemptsLogged(scene(), messages)).length).toBeLessThanOrEqual(mostAttempts);
    });
  });

  describe('a provider that resets connections before it has answered', () => {
    it('is asked at most three times, then it is a 503; later it is found again', async () => {
      const reset = faulty(scene(), 'resetting', { kind: 'reset' });
      const { exchange, marker } = await scene().askToEnd({ kind: chatStream('resetting') });
      expect([exchange.status, exchange.json]).toEqual([503, unavailable.chat]);
      expect(scene().attemptsOf(marker).length).toBeGreaterThan(0);
      expect(scene().attemptsOf(marker).length).toBeLessThanOrEqual(mostAttempts);
      reset[Symbol.dispose]();
      await expectItIsBack(scene(), chatStream('resetting'));
    });
  });

  describe.each([
    ['refused', 401, chatWhole('refused'), [503, unavailable.chat], [503, unavailable.chat]],
    ['forbidden', 403, messagesWhole('forbidden'), [403, refusedMessages], [503, unavailable.messages]],
  ] as const)('accounts of the pool "%s", which the provider refuses with %i,', (pool, status, kind, ...refusals) => {
    it("are passed over, each after one attempt; when none is left it is a 503, or the provider's 403, without its words", async () => {
      const body = { error: { type: 'authentication_error', message: canary } };
      const [last = '', ...others] = accountsOf(pool);
      const ids = others.map((account) =>
        scene().simulator.faults.add({ account, fault: { kind: 'status', status, body } }),
      );
      for (let n = 0; n < 6; n++) expect((await scene().askToEnd({ kind })).exchange.ending).toBe('whole');
      for (const account of others) expect(scene().generationsOf(account).length).toBeLessThanOrEqual(1);
      ids.push(scene().simulator.faults.add({ account: last, fault: { kind: 'status', status, body } }));
      for (const refusal of refusals) {
        const { exchange } = await scene().askToEnd({ kind });
        expect([exchange.status, exchange.json]).toEqual(refusal);
        expect(exchange.text).not.toContain('4711');
      }
      for (const id of ids) scene().simulator.faults.clear(id);
    });
  });

  describe.each([400, 413, 422])('a request that the provider refuses with %i', (status) => {
    it.each([
      ['rejecting', chatStream('rejecting'), { error: { code: 'upstream_rejected', message: expect.any(String) } }],
      ['denying', messagesStream('denying'), refusedMessages],
    ] as const)(
      'in the pool "%s" is tried once, keeps its status, and is no fault of the account',
      async (pool, kind, refusal) => {
        const body = { error: { type: 'invalid_request_error', message: canary } };
        const fault = faulty(scene(), pool, { kind: 'status', status, body });
        for (let n = 0; n < 4; n++) {
          const { exchange, marker } = await scene().askToEnd({ kind });
          expect([exchange.status, exchange.json]).toEqual([status, refusal]);
          expect(exchange.text).not.toContain('4711');
          expect(scene().attemptsOf(marker)).toHaveLength(1);
        }
        fault[Symbol.dispose]();
        expect((await scene().askToEnd({ kind })).exchange.ending).toBe('whole');
      },
    );
  });

  describe.each(pages)('a 200 with %s instead of an answer', (_what, fault, result) => {
    it.each([
      ['pages', chatStream('pages'), unavailable.chat],
      ['pages', chatWhole('pages'), unavailable.chat],
      ['papers', messagesStream('papers'), unavailable.messages],
      ['papers', chatWhole('papers'), unavailable.chat],
    ] as const)(
      'in the pool "%s" is a fault of the provider: a 503 after at most three attempts',
      async (pool, kind, refusal) => {
        await expectItIsBack(scene(), kind);
        const broken = faulty(scene(), pool, fault);
        const asked = await scene().askToEnd({ kind });
        broken[Symbol.dispose]();
        expect([asked.exchange.status, asked.exchange.json]).toEqual([503, refusal]);
        expect(asked.exchange.text).not.toContain('4711');
        const attempts = await attemptsLogged(scene(), asked);
        expect(attempts.length).toBeLessThanOrEqual(mostAttempts);
        expect(new Set(attempts.map((attempt) => attempt.result))).toEqual(new Set([result]));
        await expectItIsBack(scene(), kind);
      },
    );
  });
}

/** Injects a fault into every account of a pool until it is disposed of. */
export function faulty(scene: PoolScene, pool: ScenarioPool, fault: FaultScript['fault']): Disposable {
  const { faults } = scene.simulator;
  const ids = accountsOf(pool).map((account) => faults.add({ account, fault }));
  return {
    [Symbol.dispose]() {
      for (const id of ids) faults.clear(id);
    },
  };
}

/** An account that has failed too often is retried after a minute at most. */
export async function expectItIsBack(scene: PoolScene, kind: RequestKind): Promise<void> {
  const ending = async () => (await scene.askToEnd({ kind })).exchange.ending;
  await expect.poll(ending, { interval: 100 }).toBe('whole');
}

/** The attempts of a request in the log. */
async function attemptsLogged(scene: PoolScene, { token }: AskedExchange) {
  const [request] = await loggedRequestsOf(scene.gateway, token.tokenId);
  return request?.attempts ?? [];
}
