import { beforeAll, describe, expect, it } from 'vitest';
import { goesOn } from '../client/accounts.ts';
import { relay } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

type Item = Readonly<Record<string, unknown>>;

const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }];

/** Encrypted reasoning that comes back with the conversation. */
export function relayReasoningBehaviour(gateway: () => Topology): void {
  describe('encrypted reasoning in a relayed conversation', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    /** Sends a conversation and returns it with the answer's items. */
    const say = async (model: string, conversation: readonly Item[], text: string): Promise<readonly Item[]> => {
      const input = [...conversation, { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
      const answer = await relay(gateway(), token, { path: '/v1/responses', body: { model, input, tools } });
      expect(answer.status, answer.text).toBe(200);
      const events = answer.text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []));
      const last = JSON.parse(events.at(-1) ?? '{}');
      expect(last.type, events.at(-1)).toBe('response.completed');
      return [...input, ...last.response.output];
    };
    const requestsTo = (model: string) => gateway().simulator.requests({ model, path: '/v1/responses' });
    const lastAccount = (model: string) => requestsTo(model).at(-1)?.account;

    it('leads a conversation without a session to the account that made it', async () => {
      const accounts: string[] = [];
      for (let round = 1; goesOn({ round, atLeast: 8, accounts }); round++) {
        let conversation = await say('gpt-sticky', [], `#reason 5 ${round}`);
        const first = lastAccount('gpt-sticky');
        for (const text of ['#reason 5 and then?', 'no thought needed', '#reason 5 and last?']) {
          conversation = await say('gpt-sticky', conversation, text);
          expect(lastAccount('gpt-sticky')).toBe(first);
        }
        accounts.push(first ?? '');
      }
      expect(new Set(accounts).size).toBeGreaterThan(1);
    });

    it('is left out when another account has to continue, which is not blamed', async () => {
      const model = 'gpt-encrypted';
      const conversation = await say(model, [], '#reason 5 #tool look {"at":"this"} begin');
      const first = lastAccount(model) ?? '';
      const fault = gateway().simulator.faults.add({
        account: first,
        fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 3_600 },
      });
      const call = conversation.find(({ type }) => type === 'function_call');
      const output = { type: 'function_call_output', call_id: call?.call_id, output: 'seen' };
      const sentBefore = requestsTo(model).length;
      const gone = await say(model, [...conversation, output], 'go on');
      const [limited, unreadable, amended, ...more] = requestsTo(model).slice(sentBefore);
      gateway().simulator.faults.clear(fault);
      expect(more).toEqual([]);
      expect(limited).toMatchObject({ account: first, outcome: 'faulted' });
      expect(unreadable).toMatchObject({ outcome: 'refused' });
      expect(unreadable?.account).not.toBe(first);
      expect(amended).toMatchObject({ account: unreadable?.account, outcome: 'completed' });
      expect(typesIn(unreadable?.json)).toContain('reasoning');
      expect(typesIn(amended?.json)).toEqual(typesIn(unreadable?.json).filter((type) => type !== 'reasoning'));
      await say(model, gone.filter(({ type }) => type !== 'reasoning').map(withoutId), 'and on');
      expect(lastAccount(model)).toBe(unreadable?.account);
    });

    it('that no account can read is an error of the provider’s, once', async () => {
      const model = 'gpt-sticky';
      const sentBefore = requestsTo(model).length;
      const body = { model, input: [{ type: 'compaction', encrypted_content: `gAAAAA${'x'.repeat(100)}` }] };
      const answer = await relay(gateway(), token, { path: '/v1/responses', body });
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'invalid_encrypted_content' } });
      expect(requestsTo(model)).toHaveLength(sentBefore + 1);
    });

    it('leads a Messages conversation without a session likewise, streamed or not', async () => {
      const model = 'gateway/threads';
      const ask = async (messages: readonly Item[], stream: boolean) => {
        const body = {
          model,
          max_tokens: 2_000,
          messages,
          stream,
          thinking: { type: 'adaptive', display: 'summarized' },
        };
        const answer = await relay(gateway(), token, { path: '/v1/messages', body });
        expect(answer.status, answer.text).toBe(200);
        const account = gateway().simulator.requests({ path: '/v1/messages' }).at(-1)?.account;
        return { account, thinking: stream ? streamedThinking(answer.text) : JSON.parse(answer.text).content[0] };
      };
      const accounts: unknown[] = [];
      for (let round = 1; goesOn({ round, atLeast: 6, accounts }); round++) {
        const stream = round % 2 === 1;
        const question = { role: 'user', content: '#reason 5 hello' };
        const first = await ask([question], stream);
        expect(first.thinking.type).toBe('thinking');
        const answer = { role: 'assistant', content: [first.thinking, { type: 'text', text: 'hello' }] };
        const second = await ask([question, answer, { role: 'user', content: 'and then?' }], stream);
        expect(second.account).toBe(first.account);
        accounts.push(first.account);
      }
      expect(new Set(accounts).size).toBeGreaterThan(1);
    });
  });
}

function typesIn(json: unknown): readonly unknown[] {
  return (json as { readonly input: readonly Item[] }).input.map(({ type }) => type);
}

function withoutId({ id: _, ...item }: Item): Item {
  return item;
}

function streamedThinking(stream: string) {
  const deltas = [...stream.matchAll(/^data: (\{.*"content_block_delta".*\})$/gm)].map(
    ([, data = '{}']) => JSON.parse(data).delta as Readonly<Record<string, string>>,
  );
  return {
    type: 'thinking',
    thinking: deltas.map(({ thinking = '' }) => thinking).join(''),
    signature: deltas.map(({ signature = '' }) => signature).join(''),
  };
}
