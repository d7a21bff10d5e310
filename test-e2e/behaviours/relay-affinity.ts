import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { goesOn } from '../client/accounts.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const letters = ['a', 'b', 'c'] as const;
const threadsBeta = { 'anthropic-beta': 'message-threads-2026-08-12' };

/** Related requests stay on one account. @see spec "POST /v1/responses" */
export function relayAffinityBehaviour(gateway: () => Topology): void {
  describe('related requests on a relay', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    /**
     * Sends a request and returns the account that got it. Ignores model lists, which are read all
     * the time.
     */
    const accountOf = async (prefix: string, path: string, send: () => Promise<unknown>) => {
      const lastIds = () => letters.map((letter) => lastId(`${prefix}-${letter}`, path));
      const before = lastIds();
      await send();
      return letters.filter((_, index) => lastIds()[index] !== before[index]).join();
    };
    const lastId = (account: string, path: string) => gateway().simulator.requests({ account, path, limit: 1 })[0]?.id;

    const responsesAccount = (more: Record<string, unknown>, headers: Record<string, string> = {}) =>
      accountOf('responses-gpt-sticky', '/v1/responses', async () => {
        const body = responsesBody('gpt-sticky', 'hello', more);
        expect((await relay(gateway(), token, { path: '/v1/responses', body, headers })).status).toBe(200);
      });

    it.each([
      ['session-id', (session: string) => responsesAccount({}, { 'session-id': session })],
      ['prompt_cache_key', (session: string) => responsesAccount({ prompt_cache_key: session })],
      [
        'session-id, whatever the prompt_cache_key,',
        (session: string) => responsesAccount({ prompt_cache_key: randomUUID() }, { 'session-id': session }),
      ],
    ])('with one %s stay on one account of the Responses pool', async (_what, send) => {
      const sessions = Array.from({ length: 4 }, () => randomUUID());
      const first = await inTurn(sessions, send);
      for (let round = 0; round < 3; round++) expect(await inTurn(sessions, send)).toEqual(first);
    });

    it('pass the prompt_cache_key on', async () => {
      const key = randomUUID();
      await responsesAccount({ prompt_cache_key: key }, { 'session-id': randomUUID() });
      const received = gateway().simulator.requests({ model: 'gpt-sticky', limit: 1 })[0];
      expect(received?.json).toMatchObject({ prompt_cache_key: key });
    });

    it('that continue a thread go to the account that made its last message', async () => {
      const say = async (text: string, thread: unknown) => {
        const answer = { id: '' };
        const account = await accountOf('threads', '/v1/messages', async () => {
          const body = messagesBody('gateway/threads', text, { thread, stream: text.includes('streamed') });
          const { status, text: answered } = await relay(gateway(), token, {
            path: '/v1/messages',
            body,
            headers: threadsBeta,
          });
          expect(status).toBe(200);
          answer.id = /"id":"(msg_[^"]+)"/.exec(answered)?.[1] ?? '';
        });
        return { account, id: answer.id };
      };
      const threads: Awaited<ReturnType<typeof say>>[] = [];
      for (let round = 1; goesOn({ round, atLeast: 6, accounts: threads.map(({ account }) => account) }); round++) {
        threads.push(await say(round % 2 === 0 ? `${round} streamed` : `${round}`, { type: 'create' }));
      }
      for (const first of threads) {
        let last = first;
        for (const text of ['and then?', 'and then, streamed?', 'and then?']) {
          last = await say(text, { type: 'continue', previous_message_id: last.id });
          expect(last.account).toBe(first.account);
        }
      }
      expect(new Set(threads.map(({ account }) => account)).size).toBeGreaterThan(1);
    });
  });
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
