import type { FaultScript } from '@gateway/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ChatAnswer } from '../client/chat.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { ask, providerPathOf } from '../client/roads.ts';
import { issueToken } from '../client/tokens.ts';
import { type Refusal, type Road, refusedAccounts } from '../topologies/failing-accounts.ts';
import type { Topology } from '../topologies/topology.ts';

const secret = 'account 4711 of the provider';

/** Pools of which the provider refuses every account. */
export function refusedAccountsBehaviour(gateway: () => Topology): void {
  describe('when the provider refuses every account', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    /**
     * Sends requests while the accounts are refused: before any account was asked, and when all are
     * known to be refused.
     */
    const askRefused = async (road: Road | 'count-tokens', name: Refusal, faults: readonly FaultScript['fault'][]) => {
      const { model, credentials } = refusedAccounts(road, name);
      const path = providerPathOf(road);
      const { simulator } = gateway();
      const ids = credentials.map((account, at) =>
        simulator.faults.add({ account, path, fault: faults[at] ?? expect.fail('a fault for each account') }),
      );
      const asked = () => credentials.map((account) => simulator.requests({ account, path }).length);
      const first = await ask(gateway(), token, { road, model });
      const askedAtFirst = asked();
      const later = await ask(gateway(), token, { road, model });
      const askedLater = asked();
      for (const id of ids) simulator.faults.clear(id);
      const recovered = await ask(gateway(), token, { road, model });
      for (const { text } of [first, later]) if (road !== 'responses') expect(text).not.toContain('4711');
      return { first, later, recovered, askedAtFirst, askedLater };
    };

    describe.each([402, 403] as const)('with %i, which does not say whether the account is the cause', (status) => {
      const both = [refusalOf(status), refusalOf(status)];
      const name = `${status}` as const;

      it("a Responses client gets the provider's answer, each time, and other requests are served", async () => {
        const { first, later, recovered, askedAtFirst, askedLater } = await askRefused('responses', name, both);
        for (const answer of [first, later]) expect([answer.status, answer.json]).toEqual([status, bodyOf(status)]);
        expect([askedAtFirst, askedLater, recovered.status]).toEqual([[1, 1], [2, 2], 200]);
      });

      it.each(['messages', 'count-tokens'] as const)(
        "a Messages client gets the provider's status with the generic body, and other requests are served (%s)",
        async (road) => {
          const { first, later, recovered, askedAtFirst, askedLater } = await askRefused(road, name, both);
          for (const answer of [first, later]) {
            expect([answer.status, answer.json]).toEqual([
              status,
              genericBody('The provider did not permit the request.'),
            ]);
          }
          expect([askedAtFirst, askedLater, recovered.status]).toEqual([[1, 1], [2, 2], 200]);
        },
      );

      it.each(['chat-responses', 'chat-messages'] as const)('a chat client gets 503 (%s)', async (road) => {
        const { first, later, recovered, askedAtFirst } = await askRefused(road, name, both);
        expect([askedAtFirst, recovered.status]).toEqual([[1, 1], 200]);
        for (const answer of [first, later]) expectUnavailable(answer);
      });
    });

    describe('because of what a request chose', () => {
      it.each([
        ['messages', { speed: 'fast' }, 429, { type: 'rate_limit_error', message: secret }],
        ['messages', { service_tier: 'novel' }, 429, { type: 'rate_limit_error', message: secret }],
        ['messages', { speed: 'fast' }, 529, { type: 'overloaded_error', message: secret }],
        ['messages', {}, 429, { type: 'rate_limit_error', message: 'Usage credits are required for fast mode.' }],
        [
          'messages',
          {},
          402,
          { type: 'billing_error', details: { error_code: 'linked_organization_spend_limit_reached' } },
        ],
        ['messages', {}, 403, { type: 'permission_error', details: { error_code: 'user_profile_not_billable' } }],
        ['messages', {}, 403, { type: 'permission_error', details: { error_code: 'novelty' }, message: secret }],
        ['responses', { service_tier: 'flex' }, 429, { code: 'rate_limit_exceeded', message: secret }],
        ['responses', { service_tier: 'priority' }, 429, { message: secret }],
        ['responses', {}, 429, { code: 'flex_unavailable', message: secret }],
        ['responses', {}, 403, { code: 'novelty', message: secret }],
      ] as const)('only that request is refused (%s with %j, %i: %j)', async (road, choice, status, error) => {
        const { model, credentials } = refusedAccounts(road, 'chosen');
        const { simulator, operator } = gateway();
        const body = { type: 'error', error };
        const fault = {
          kind: 'status',
          status,
          headers: { 'content-type': 'application/json', 'retry-after': '20' },
          body,
        } as const;
        const ids = credentials.map((account) => simulator.faults.add({ account, path: providerPathOf(road), fault }));
        const path = road === 'messages' ? '/v1/messages' : '/v1/responses';
        const asked = road === 'messages' ? messagesBody(model, 'hello') : responsesBody(model, 'hello');
        const refused = await relay(gateway(), token, { path, body: { ...asked, ...choice } });
        for (const id of ids) simulator.faults.clear(id);
        expect([refused.status, refused.json]).toMatchObject([
          status,
          road === 'messages' ? genericBody(expect.any(String)) : body,
        ]);
        expect(refused.headers.get('retry-after')).toBe(status === 429 || status === 529 ? '20' : null);
        expect((await ask(gateway(), token, { road, model })).status).toBe(200);
        const accounts = await operator.accountsOf(road === 'messages' ? 'messages-refused-chosen' : 'responses');
        const mine = accounts.filter(({ id }) => credentials.includes(id.replace('/', '-')));
        expect(mine.map(({ cooldowns }) => cooldowns)).toEqual([[], []]);
      });
    });

    describe('with 401', () => {
      const both = [refusalOf(401), refusalOf(401)];

      it.each([
        ['responses', 'Responses'],
        ['messages', 'Messages'],
        ['count-tokens', 'Messages'],
      ] as const)('a client learns nothing of it (%s)', async (road, pool) => {
        const { first, later, askedAtFirst, askedLater } = await askRefused(road, '401', both);
        expect(askedAtFirst).toEqual([1, 1]);
        for (const answer of [first, later]) expectUnusable(answer, pool);
        expect(askedLater).toEqual(askedAtFirst);
      });

      it.each(['chat-responses', 'chat-messages'] as const)('a client learns nothing of it (%s)', async (road) => {
        const { first, later, askedAtFirst } = await askRefused(road, '401', both);
        expect(askedAtFirst).toEqual([1, 1]);
        for (const answer of [first, later]) expectUnavailable(answer);
      });
    });

    describe('with 403 and 401', () => {
      const mixed = [refusalOf(403), refusalOf(401)];

      it.each(['responses', 'messages', 'count-tokens'] as const)(
        'it is the 403 that comes back (%s)',
        async (road) => {
          const { first, askedAtFirst } = await askRefused(road, '403-and-401', mixed);
          expect(askedAtFirst).toEqual([1, 1]);
          expect(first.status).toBe(403);
        },
      );
    });

    describe('but for one that is limited', () => {
      const limit = { preset: 'rate_limited_retry_after', resetAfterSeconds: 300 } as const;

      it.each(['responses', 'messages', 'count-tokens', 'chat-responses', 'chat-messages'] as const)(
        'a client learns when to come back (%s)',
        async (road) => {
          const { first, later, askedAtFirst } = await askRefused(road, '403-and-429', [refusalOf(403), limit]);
          expect(askedAtFirst).toEqual([1, 1]);
          for (const { status, headers } of [first, later]) {
            expect(status).toBe(429);
            expect(Number(headers.get('retry-after'))).toBeGreaterThan(200);
          }
        },
      );
    });

    describe('with an HTML page, which comes from something on the way', () => {
      const both = [{ preset: 'forbidden_html' }, { preset: 'forbidden_html' }] as const;

      it.each([
        ['responses', 'providers_unavailable', 'The Responses pool is unreachable.'],
        ['messages', undefined, 'The Messages pool is unreachable.'],
        ['count-tokens', undefined, 'The Messages pool is unreachable.'],
        ['chat-responses', 'providers_unavailable', expect.any(String)],
        ['chat-messages', 'providers_unavailable', expect.any(String)],
      ] as const)('the pool is out of reach, and its accounts stay in service (%s)', async (road, code, message) => {
        const { first, recovered } = await askRefused(road, '403-page', both);
        expect(first.status).toBe(503);
        expect(first.json).toMatchObject({ error: code === undefined ? { message } : { code, message } });
        expect(first.text).not.toContain('<');
        expect(recovered.status).toBe(200);
      });
    });
  });
}

function genericBody(message: unknown) {
  return { type: 'error', error: { type: 'api_error', code: 'subscription_upstream_error', message } };
}

function refusalOf(status: 401 | 402 | 403): FaultScript['fault'] {
  return { kind: 'status', status, headers: { 'content-type': 'application/json' }, body: bodyOf(status) };
}

function bodyOf(status: number) {
  return { type: 'error', error: { type: 'some_error', message: `${secret}, ${status}` } };
}

/** 503 with the text of an endpoint that one pool serves. */
function expectUnusable({ status, json }: ChatAnswer, pool: 'Responses' | 'Messages'): void {
  const message = `No account of the ${pool} pool is available.`;
  const error = pool === 'Messages' ? { type: 'api_error', message } : { code: 'providers_unavailable', message };
  expect([status, json]).toMatchObject([503, { error }]);
}

/** 503 of chat, whose text is valid for any number of pools. */
function expectUnavailable({ status, json }: ChatAnswer): void {
  const message = expect.not.stringMatching(/reach/);
  expect([status, json]).toEqual([503, { error: { code: 'providers_unavailable', message } }]);
}
