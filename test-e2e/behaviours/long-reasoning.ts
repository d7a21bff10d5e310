import type { FaultScript } from '@gateway/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { chat, eventsOf } from '../client/chat.ts';
import { relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const dayBudget = 100_000_000;
/** Two reasoning items with only encrypted content; the connection breaks after the second. */
const reasoningInVain = { text: '#reason 500 #reason 500 Hello', eventsBefore: 6 };

/** Models that reason for long before their first content. */
export function longReasoningBehaviour(gateway: () => Topology): void {
  describe('a model that reasons for long', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const serve = (account: string, events: readonly ProviderEvent[]) => {
      const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
      const headers = { 'content-type': 'text/event-stream' };
      gateway().simulator.faults.add({ account, times: 1, fault: { kind: 'status', status: 200, headers, body } });
      return body;
    };
    const contentOf = (text: string) =>
      eventsOf(text)
        .map((event) => (event as ChatChunk).choices?.[0]?.delta?.content ?? '')
        .join('');

    describe.each([
      ['one reasoning item of 400 KiB', [400]],
      ['four of 100 KiB', [100, 100, 100, 100]],
    ])('%s', (_what, sizes) => {
      it('comes before the answer of a chat client, streamed and whole', async () => {
        serve('reasoning-a', responsesEvents(sizes));
        const { status, text } = await chat(gateway(), token, { model: 'gateway/reasoning', stream: true });
        expect(status).toBe(200);
        expect(contentOf(text)).toBe('Forty-two.');
        expect(eventsOf(text).at(-1)).toBe('[DONE]');
        serve('reasoning-a', responsesEvents(sizes));
        const whole = await chat(gateway(), token, { model: 'gateway/reasoning' });
        expect(whole).toMatchObject({ status: 200, json: { choices: [{ message: { content: 'Forty-two.' } }] } });
      });

      it('comes before it from the Messages pool too, redacted and signed', async () => {
        for (const kind of ['redacted', 'signed'] as const) {
          serve('thinking-a', messagesEvents(sizes, kind));
          const { status, text } = await chat(gateway(), token, { model: 'gateway/thinking', stream: true });
          expect(status).toBe(200);
          expect(contentOf(text)).toBe('Forty-two.');
        }
      });

      it('is relayed as it came', async () => {
        const sent = serve('responses-gpt-reasoning-a', responsesEvents(sizes));
        const answer = await relay(gateway(), token, {
          path: '/v1/responses',
          body: responsesBody('gpt-reasoning', 'Hi'),
        });
        expect(answer.status).toBe(200);
        expect(answer.text).toBe(sent);
      });
    });

    describe('and fails before it says anything', () => {
      const failNext = (path: '/v1/responses' | '/v1/messages', times: number) => {
        const fault: FaultScript['fault'] = { kind: 'reset', afterEvents: reasoningInVain.eventsBefore };
        gateway().simulator.faults.add({ path, times, fault });
      };
      const ask = async (model: string, stream: boolean) => {
        const asking = await issueToken(gateway(), { tokensPerDay: dayBudget });
        const messages = [{ role: 'user', content: reasoningInVain.text }];
        const answer = await chat(gateway(), asking.text, { model, messages, stream });
        return { answer, usage: await usageOf(gateway(), asking.text) };
      };

      it.each([
        ['responses', 'gateway/rethinking', true],
        ['responses', 'gateway/rethinking', false],
        ['messages', 'gateway/rethinking-messages', true],
      ] as const)(
        'is replaced by another account of the pool, and both are in the usage: %s',
        async (format, model, stream) => {
          failNext(`/v1/${format}`, 1);
          const { answer, usage } = await ask(model, stream);
          expect(answer.status).toBe(200);
          expect(answer.text).not.toContain('error');
          const [failed, answered] = gateway()
            .simulator.requests({ path: `/v1/${format}`, limit: 2 })
            .toReversed();
          expect(failed?.account).not.toBe(answered?.account);
          const billed = answered?.billed ?? expect.fail('it was answered');
          const { today, limits } = usage;
          expect(today.requests).toBe(1);
          expect(today.inputTokens).toBeGreaterThan(billed.inputTokens);
          expect(today.outputTokens).toBeGreaterThan(billed.outputTokens);
          expect(limits.tokensPerDay?.remaining).toBe(dayBudget - today.totalTokens);
        },
      );

      it('is in the usage when no account answers, and the client gets one clear error', async () => {
        failNext('/v1/responses', 3);
        const { answer, usage } = await ask('gateway/unfinished', true);
        expect(answer.status).toBe(503);
        expect(answer.json).toMatchObject({ error: { code: 'providers_unavailable' } });
        const attempts = gateway().simulator.requests({ path: '/v1/responses', limit: 3 });
        expect(new Set(attempts.map(({ account }) => account)).size).toBe(3);
        const { today, limits } = usage;
        expect(today.requests).toBe(1);
        expect(today.byModel).toMatchObject([{ model: 'gpt-5.5', requests: 1, totalTokens: today.totalTokens }]);
        // Encrypted reasoning of three attempts.
        expect(today.outputTokens).toBeGreaterThan(3 * 50);
        expect(limits.tokensPerDay?.remaining).toBe(dayBudget - today.totalTokens);
      });

      it('is not in the usage when it has not begun to reason', async () => {
        gateway().simulator.faults.add({ path: '/v1/responses', times: 1, fault: { kind: 'reset', afterEvents: 2 } });
        const { answer, usage } = await ask('gateway/rethinking', true);
        expect(answer.status).toBe(200);
        const [answered] = gateway().simulator.requests({ path: '/v1/responses', limit: 1 });
        expect(usage.today).toMatchObject({ requests: 1, outputTokens: answered?.billed.outputTokens });
      });
    });
  });
}

interface ChatChunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
}

interface ProviderEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A response whose items of encrypted reasoning have this many KiB. */
function responsesEvents(sizesKib: readonly number[]): readonly ProviderEvent[] {
  const response = { id: 'resp_r', object: 'response', created_at: 1, model: 'gpt-5.5', output: [] };
  const items = sizesKib.flatMap((kib, index) => {
    const item = { id: `rs_${index}`, type: 'reasoning', summary: [] };
    return [
      { type: 'response.output_item.added', output_index: index, item },
      { type: 'response.output_item.done', output_index: index, item: { ...item, encrypted_content: blobOf(kib) } },
    ];
  });
  const message = { id: 'msg_r', type: 'message', role: 'assistant', status: 'completed' };
  const place = { output_index: sizesKib.length, content_index: 0, item_id: message.id };
  const content = [{ type: 'output_text', text: 'Forty-two.', annotations: [] }];
  const usage = { input_tokens: 9, output_tokens: 60_000, total_tokens: 60_009 };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...items,
    { type: 'response.output_item.added', output_index: sizesKib.length, item: { ...message, content: [] } },
    { type: 'response.output_text.delta', ...place, delta: 'Forty-two.' },
    { type: 'response.output_item.done', output_index: sizesKib.length, item: { ...message, content } },
    // All members are present, so that the gateway adds none.
    {
      type: 'response.completed',
      response: { ...response, status: 'completed', output: [{ ...message, content }], usage },
    },
  ];
}

/** A message with thinking blocks of this many KiB, without readable text. */
function messagesEvents(sizesKib: readonly number[], kind: 'redacted' | 'signed'): readonly ProviderEvent[] {
  const message = { id: 'msg_t', type: 'message', role: 'assistant', model: 'claude-sonnet-5', content: [] };
  const thinking = sizesKib.flatMap((kib, index): readonly ProviderEvent[] => {
    const [block, deltas] =
      kind === 'redacted'
        ? [{ type: 'redacted_thinking', data: blobOf(kib) }, []]
        : [{ type: 'thinking', thinking: '', signature: '' }, [{ type: 'signature_delta', signature: blobOf(kib) }]];
    return [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
  });
  const index = sizesKib.length;
  return [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 9, output_tokens: 1 } } },
    ...thinking,
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'Forty-two.' } },
    { type: 'content_block_stop', index },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 60_000 } },
    { type: 'message_stop' },
  ];
}

function blobOf(kib: number): string {
  return `gAAAAA${'x'.repeat(kib * 1024 - 6)}`;
}
