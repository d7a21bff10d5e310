import type { FaultScript } from '@gateway/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { ask, providerPathOf } from '../client/roads.ts';
import { issueToken } from '../client/tokens.ts';
import { type LackKind, lackingAccounts, type Road, roads } from '../topologies/failing-accounts.ts';
import type { Topology } from '../topologies/topology.ts';

type AnyRoad = Road | 'count-tokens';

/**
 * Accounts that lack a model, a feature or credit: the next account, or the next candidate of a
 * class, answers.
 */
export function lackingAccountsBehaviour(gateway: () => Topology): void {
  describe('when an account lacks a feature that a request needs', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    it.each(['not-found', 'gone', 'unsupported'] as const)(
      'a class moves to its next candidate, and does not ask the first one again: %s',
      async (lack) => {
        const { faults, requests } = gateway().simulator;
        const account = `retired-${lack}-a`;
        const id = faults.add({ account, fault: lackOf('responses', lack) });
        for (let round = 0; round < 3; round++) {
          const { status, headers } = await chat(gateway(), token, { model: `gateway/retired-${lack}` });
          expect([status, headers.get('x-gateway-provider')]).toEqual([200, 'provider_b']);
        }
        faults.clear(id);
        expect(requests({ account, path: '/v1/responses' })).toHaveLength(1);
      },
    );

    describe.each([...roads, 'count-tokens'] as const)('on the road %s', (road) => {
      const path = providerPathOf(road);
      const asked = (account: string | undefined) =>
        gateway().simulator.requests({ account: account ?? '', path }).length;

      it.each(['not-found', 'gone', 'unsupported', 'credit'] as const)(
        'the other account answers, and the first is not asked again: %s',
        async (lack) => {
          const { model, credentials } = lackingAccounts(road, lack);
          const [account] = credentials;
          const id = gateway().simulator.faults.add({ account, path, fault: lackOf(road, lack) });
          for (let round = 0; round < 40 && asked(account) === 0; round++) {
            expect((await ask(gateway(), token, { road, model })).status).toBe(200);
          }
          for (let round = 0; round < 4; round++) {
            expect((await ask(gateway(), token, { road, model })).status).toBe(200);
          }
          gateway().simulator.faults.clear(id);
          expect(asked(account)).toBe(1);
        },
      );

      it('clients learn each time that no account has the model, and can use it as soon as one has it', async () => {
        const { model, credentials } = lackingAccounts(road, 'nowhere');
        const fault = lackOf(road, 'not-found');
        const ids = credentials.map((account) => gateway().simulator.faults.add({ account, path, fault }));
        for (let round = 0; round < 2; round++) {
          const { status, json } = await ask(gateway(), token, { road, model });
          expect([status, json]).toEqual(endings[road]);
        }
        // Both accounts once, then one for each request.
        expect(credentials.map(asked).reduce((one, other) => one + other)).toBe(3);
        for (const id of ids) gateway().simulator.faults.clear(id);
        expect((await ask(gateway(), token, { road, model })).status).toBe(200);
      });
    });

    it('a model that is named directly does not exist on chat', async () => {
      const { model, credentials } = lackingAccounts('responses', 'nowhere');
      const fault = lackOf('responses', 'not-found');
      const ids = credentials.map((account) => gateway().simulator.faults.add({ account, fault }));
      const { status, json } = await chat(gateway(), token, { model });
      for (const id of ids) gateway().simulator.faults.clear(id);
      expect([status, json]).toEqual([404, { error: { code: 'model_not_found', message: expect.any(String) } }]);
    });

    describe('a beta that one account lacks', () => {
      const { model, credentials } = lackingAccounts('messages', 'feature');
      const [lacking = '', other = ''] = credentials;
      const beta = 'context-1m-2025-08-07';
      const betasAt = (account: string) =>
        gateway()
          .simulator.requests({ account, path: '/v1/messages' })
          .map(({ headers }) => headers['anthropic-beta']);

      it('passes it over for that beta, not for anything else', async () => {
        const fault = lackOf('messages', 'feature');
        for (let round = 0; round < 40 && !betasAt(lacking).includes(beta); round++) {
          const id = gateway().simulator.faults.add({ account: lacking, fault });
          expect((await ask(gateway(), token, { road: 'messages', model, beta })).status).toBe(200);
          gateway().simulator.faults.clear(id);
        }
        const before = betasAt(lacking).length;
        for (let round = 0; round < 6; round++) {
          expect((await ask(gateway(), token, { road: 'messages', model, beta })).status).toBe(200);
        }
        expect(betasAt(lacking)).toHaveLength(before);
        for (let round = 0; round < 40 && betasAt(lacking).length === before; round++) {
          expect((await ask(gateway(), token, { road: 'messages', model })).status).toBe(200);
        }
        expect(betasAt(lacking).at(-1)).not.toBe(beta);
        expect(betasAt(other)).toContain(beta);
      });

      it('that all lack gives the provider’s status with the generic body, on which clients drop it', async () => {
        const { model: bare, credentials: all } = lackingAccounts('messages', 'no-feature');
        const fault = lackOf('messages', 'feature');
        const ids = all.map((account) => gateway().simulator.faults.add({ account, fault }));
        for (let round = 0; round < 2; round++) {
          const { status, json } = await ask(gateway(), token, { road: 'messages', model: bare, beta });
          expect([status, json]).toEqual([400, genericBody]);
        }
        for (const id of ids) gateway().simulator.faults.clear(id);
        expect((await ask(gateway(), token, { road: 'messages', model: bare })).status).toBe(200);
      });
    });
  });
}

const genericBody = {
  type: 'error',
  error: { type: 'api_error', code: 'subscription_upstream_error', message: expect.any(String) },
};

const unavailable = [503, { error: { code: 'providers_unavailable', message: expect.any(String) } }];

/** The clients' error if no account has the model, or the class if the endpoint accepts classes. */
const endings: Readonly<Record<AnyRoad, readonly unknown[]>> = {
  responses: [404, bodyOf('responses', 'not-found')],
  messages: [404, genericBody],
  'count-tokens': [404, genericBody],
  'chat-responses': unavailable,
  'chat-messages': unavailable,
};

function lackOf(road: AnyRoad, lack: LackKind): FaultScript['fault'] {
  const status = {
    'not-found': 404,
    gone: 410,
    unsupported: 400,
    nowhere: 404,
    credit: 400,
    feature: 400,
    'no-feature': 400,
  };
  const headers = { 'content-type': 'application/json' };
  return { kind: 'status', status: status[lack], headers, body: bodyOf(road, lack) };
}

function bodyOf(road: AnyRoad, lack: LackKind): object {
  if (road.endsWith('responses')) {
    if (lack === 'unsupported') {
      return { detail: "The 'gpt-5.5' model is not supported when using Codex with a ChatGPT account." };
    }
    if (lack === 'credit') return { detail: 'Your plan does not include Codex.' };
    const gone = { message: 'This model is gone.', type: 'invalid_request_error', code: null };
    const notFound = { ...gone, message: 'The model does not exist', code: 'model_not_found' };
    return { error: lack === 'gone' ? gone : notFound };
  }
  const error = (type: string, message: string) => ({ type: 'error', error: { type, message } });
  if (lack === 'credit') {
    return error(
      'invalid_request_error',
      "You're out of extra usage. Add more at claude.ai/settings/usage and keep going.",
    );
  }
  if (lack === 'unsupported') {
    return error('invalid_request_error', 'Third-party apps now draw from your extra usage, not your plan limits.');
  }
  if (lack === 'feature') {
    return error('invalid_request_error', 'The long context beta is not yet available for this subscription.');
  }
  return error('not_found_error', 'model: claude-sonnet-5');
}
