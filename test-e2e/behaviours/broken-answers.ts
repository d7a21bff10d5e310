import { randomUUID } from 'node:crypto';
import type { FaultScript } from '@gateway/simulator';
import { describe, expect, it } from 'vitest';
import type { ChatAnswer } from '../client/chat.ts';
import { loggedRequestsOf } from '../client/request-log.ts';
import { ask, isWhole, providerPathOf, type RoadRequest } from '../client/roads.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { type Break, breakingAccounts, type Road, roads } from '../topologies/failing-accounts.ts';
import type { Topology } from '../topologies/topology.ts';

/** Slow enough that the client's answer has begun before it fails, on a busy machine too. */
const slowly = { kind: 'delay', betweenEventsMs: 40 } as const;

const serverError = { kind: 'failed', afterEvents: 12, error: failureOf('server_error', 'api_error') } as const;

const breaks = [
  ['breaks off', 'reset', { kind: 'reset', afterEvents: 12 }],
  ['ends too early', 'ended', { kind: 'end', afterEvents: 12 }],
  ['reports a failure of its own', 'failed', serverError],
] as const satisfies readonly (readonly [string, Break, FaultScript['fault']])[];

/** The effect on accounts and sessions when answers break off after they have begun. */
export function brokenAnswersBehaviour(gateway: () => Topology): void {
  // Each has accounts of its own, and mostly waits for slow answers.
  describe.concurrent('an answer that has begun and fails', () => {
    /** Sends a request with a token of its own. */
    const openAsker = async () => {
      const token = await issueToken(gateway(), { kind: 'service', tokensPerDay: 100_000_000 });
      return {
        token: token.text,
        askFor: (request: RoadRequest) => ask(gateway(), token.text, { ...request, text: 'tell me #long 40' }),
        /** The log's entry of the request of an answer, once it exists. */
        async logged({ headers }: ChatAnswer) {
          const find = async () => {
            const requests = await loggedRequestsOf(gateway(), token.tokenId);
            return requests.find(({ requestId }) => requestId === headers.get('x-request-id'));
          };
          await expect.poll(find).toBeDefined();
          return find();
        },
      };
    };

    const accountOf = (credentials: readonly string[], road: Road) => {
      const received = credentials.flatMap((account) =>
        gateway().simulator.requests({ account, path: providerPathOf(road), limit: 1 }),
      );
      return received.sort((one, other) => one.id - other.id).at(-1)?.account ?? expect.fail('no account was asked');
    };
    const failing = (account: string, fault: FaultScript['fault']) => {
      const { faults } = gateway().simulator;
      const ids = [slowly, fault].map((each) => faults.add({ account, fault: each }));
      return {
        [Symbol.dispose]: () => {
          for (const id of ids) faults.clear(id);
        },
      };
    };

    describe.each(roads)('on %s', (road) => {
      it.each(breaks)(
        'that %s makes its session leave, and others prefer another account',
        async (_what, name, fault) => {
          const { askFor } = await openAsker();
          const { model, credentials } = breakingAccounts(road, name);
          const session = randomUUID();
          expect(isWhole(await askFor({ road, model, session }))).toBe(true);
          const account = accountOf(credentials, road);
          using _ = failing(account, fault);
          const inSession: boolean[] = [];
          for (let n = 0; n < 4; n++) inSession.push(isWhole(await askFor({ road, model, session })));
          expect(inSession).toEqual([false, true, true, true]);
          const others: boolean[] = [];
          // Each misses the account with a chance of one half: all of these would miss it once in a
          // thousand runs.
          for (let n = 0; n < 14; n++) others.push(isWhole(await askFor({ road, model })));
          expect(others.filter((whole) => !whole).length).toBeLessThanOrEqual(3);
        },
      );

      it('says so in its trace, and its usage is recorded', async () => {
        const { token, askFor, logged } = await openAsker();
        const { model, credentials } = breakingAccounts(road, 'traced');
        const before = await usageOf(gateway(), token);
        const faults = credentials.map((account) => failing(account, serverError));
        const answer = await askFor({ road, model });
        for (const fault of faults) fault[Symbol.dispose]();
        expect([answer.status, isWhole(answer)]).toEqual([200, false]);
        expect(await logged(answer)).toMatchObject({
          ending: 'REQUEST_ENDING_FAILED',
          status: 200,
          attempts: [
            {
              result: 'ATTEMPT_RESULT_SERVER_ERROR',
              usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
            },
          ],
        });
        const after = await usageOf(gateway(), token);
        expect(after.today.requests).toBe(before.today.requests + 1);
        expect(after.today.outputTokens).toBeGreaterThan(before.today.outputTokens);
      });

      it('for a fault of the request leaves the session on its account', async () => {
        const { askFor, logged } = await openAsker();
        const { model, credentials } = breakingAccounts(road, 'rejected');
        const session = randomUUID();
        expect(isWhole(await askFor({ road, model, session }))).toBe(true);
        const account = accountOf(credentials, road);
        const error = failureOf('invalid_prompt', 'invalid_request_error');
        {
          using _ = failing(account, { kind: 'failed', afterEvents: 12, error });
          for (let n = 0; n < 3; n++) expect(isWhole(await askFor({ road, model, session }))).toBe(false);
          const answer = await askFor({ road, model, session });
          expect(isWhole(answer)).toBe(false);
          expect(await logged(answer)).toMatchObject({
            ending: 'REQUEST_ENDING_REFUSED',
            attempts: [{ result: 'ATTEMPT_RESULT_REJECTED' }],
          });
        }
        expect(isWhole(await askFor({ road, model, session }))).toBe(true);
        expect(accountOf(credentials, road)).toBe(account);
      });

      it('for a limit lets the account rest', async () => {
        const { askFor, logged } = await openAsker();
        const { model, credentials } = breakingAccounts(road, 'limited');
        const session = randomUUID();
        expect(isWhole(await askFor({ road, model, session }))).toBe(true);
        const account = accountOf(credentials, road);
        const error = failureOf('rate_limit_exceeded', 'rate_limit_error');
        using _ = failing(account, { kind: 'failed', afterEvents: 12, error });
        const answer = await askFor({ road, model, session });
        expect(isWhole(answer)).toBe(false);
        expect((await logged(answer))?.attempts).toMatchObject([{ result: 'ATTEMPT_RESULT_RATE_LIMITED' }]);
        // A few seconds: time for one request.
        expect(isWhole(await askFor({ road, model }))).toBe(true);
        expect(accountOf(credentials, road)).not.toBe(account);
      });

      it('that repeats does not stop the only account of a pool from serving', async () => {
        const { askFor } = await openAsker();
        const { model, credentials } = breakingAccounts(road, 'lone');
        for (const [, , fault] of breaks) {
          using _ = failing(credentials[0] ?? '', fault);
          for (let n = 0; n < 5; n++) {
            const answer = await askFor({ road, model });
            expect([answer.status, isWhole(answer)]).toEqual([200, false]);
          }
        }
        expect(isWhole(await askFor({ road, model }))).toBe(true);
      });
    });
  });
}

/** Each provider reads its own member. */
function failureOf(code: string, type: string) {
  return { code, type, message: 'secret words of the provider' };
}
