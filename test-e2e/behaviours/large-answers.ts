import { createHash } from 'node:crypto';
import type { RecordedRequest } from '@gateway/simulator';
import { roomMs } from '@gateway/testkit/room';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { messagesBody, relayHeaders, responsesBody } from '../client/relay.ts';
import { observedFetch, openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const mebibyte = 1024 * 1024;
const dailyTokens = 1_000_000_000;
const timeout = roomMs(120_000);

/**
 * Answers of many mebibytes: assembled for chat clients up to `ANSWER_BUFFER_MAX_MIB` (32), relayed
 * without such a bound.
 */
export function largeAnswersBehaviour(gateway: () => Topology): void {
  describe('a large answer', () => {
    const post = async (path: string, headers: Readonly<Record<string, string>>, body: object) => {
      const response = await fetch(`${gateway().baseUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeout),
      });
      return { response, text: await response.text() };
    };
    const chat = (token: string, body: object) =>
      post('/v1/chat/completions', { authorization: `Bearer ${token}` }, body);
    const asking = (bytes: number) => [{ role: 'user', content: `#bytes ${bytes}` }];
    const requestsTo = (pool: string) =>
      ['a', 'b', 'c'].flatMap((letter) =>
        gateway()
          .simulator.requests({ account: `${pool}-${letter}` })
          .filter(({ method }) => method === 'POST'),
      );

    it.each([
      ['large', 12],
      ['large', 16],
      ['large-messages', 12],
      ['large-messages', 16],
    ])(
      'of chat over gateway/%s, of %i MiB, is put together',
      async (pool, mebibytes) => {
        const { text: token } = await issueToken(gateway(), { tokensPerDay: dailyTokens });
        const before = requestsTo(pool).length;
        const { response, text } = await chat(token, {
          model: `gateway/${pool}`,
          messages: asking(mebibytes * mebibyte),
        });
        expect(response.status).toBe(200);
        const { choices, usage } = JSON.parse(text);
        expect(digestOf(choices[0].message.content)).toBe(digestOf(contentOf(mebibytes * mebibyte)));
        expect(usage.completion_tokens).toBe((mebibytes * mebibyte) / 4);
        expect(requestsTo(pool)).toHaveLength(before + 1);
        expect((await usageOf(gateway(), token)).today.outputTokens).toBe(usage.completion_tokens);
      },
      timeout,
    );

    it.each(['large', 'large-messages'])(
      'of chat over gateway/%s, beyond the bound, ends the request at once: one account made it, and it is recorded',
      async (pool) => {
        const { text: token } = await issueToken(gateway(), { tokensPerDay: dailyTokens });
        const before = requestsTo(pool).length;
        const { response, text } = await chat(token, { model: `gateway/${pool}`, messages: asking(33 * mebibyte) });
        expect(response.status).toBe(500);
        expect(response.headers.get('x-should-retry')).toBe('false');
        expect(JSON.parse(text)).toEqual({
          error: { code: 'internal_error', message: expect.stringMatching(/too large .*"stream": true/) },
        });
        expect(requestsTo(pool)).toHaveLength(before + 1);
        // The last mebibyte may be in transit when the gateway hangs up; a whole response would be
        // much larger.
        const ended = pool === 'large' ? /^cancelled$/ : /^(cancelled|completed)$/;
        await expect.poll(() => newestOf(requestsTo(pool))?.outcome).toMatch(ended);
        const { today, limits } = await usageOf(gateway(), token);
        expect(today).toMatchObject({ requests: 1, totalTokens: today.inputTokens + today.outputTokens });
        expect(today.inputTokens).toBeGreaterThan(0);
        expect(today.outputTokens).toBeGreaterThan(30 * (mebibyte / 4));
        expect(today.outputTokens).toBeLessThanOrEqual(34 * (mebibyte / 4));
        expect(limits.tokensPerDay?.remaining).toBe(dailyTokens - today.totalTokens);
        // No account pauses.
        for (let n = 0; n < 3; n++) {
          const small = await chat(token, { model: `gateway/${pool}`, messages: asking(8) });
          expect(small.response.status).toBe(200);
        }
      },
      timeout,
    );

    it(
      'beyond the bound is not asked for again by the openai package',
      async () => {
        const { text: token } = await issueToken(gateway(), { kind: 'personal' });
        const { fetch: observed, exchanges } = observedFetch();
        const client = openAiClient(gateway(), token, { fetch: observed, maxRetries: 2 });
        const request = { model: 'gateway/large', messages: [{ role: 'user', content: `#bytes ${33 * mebibyte}` }] };
        const thrown = await rejectionOf(
          client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsNonStreaming),
        );
        expect(thrown).toBeInstanceOf(OpenAI.InternalServerError);
        expect(exchanges).toHaveLength(1);
      },
      timeout,
    );

    it(
      'of chat beyond the bound is streamed',
      async () => {
        const { text: token } = await issueToken(gateway(), { kind: 'personal' });
        const body = { model: 'gateway/large', messages: asking(33 * mebibyte), stream: true };
        const { response, text } = await chat(token, body);
        expect(response.status).toBe(200);
        expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
        expect(text.length).toBeGreaterThan(33 * mebibyte);
      },
      timeout,
    );

    it.each([12, 16, 40])(
      'of /v1/messages, of %i MiB, is relayed byte for byte',
      async (mebibytes) => {
        const { text: token } = await issueToken(gateway(), { tokensPerDay: dailyTokens });
        const body = messagesBody('gateway/large-messages', `#bytes ${mebibytes * mebibyte}`);
        const { response, text } = await post('/v1/messages', relayHeaders(token, '/v1/messages'), body);
        expect(response.status).toBe(200);
        const { content, usage, ...message } = JSON.parse(text);
        expect(digestOf(content[0].text)).toBe(digestOf(contentOf(mebibytes * mebibyte)));
        // As the provider writes it, without any change.
        const members = { ...message, content, usage };
        expect(digestOf(text)).toBe(digestOf(JSON.stringify(inOrderOf(text, members))));
        const { today } = await usageOf(gateway(), token);
        expect(today).toMatchObject({ requests: 1, outputTokens: usage.output_tokens });
      },
      timeout,
    );

    it(
      'of /v1/responses, of 12 MiB, is relayed with its last event, which repeats all of it',
      async () => {
        const { text: token } = await issueToken(gateway(), { tokensPerDay: dailyTokens });
        const body = responsesBody('gpt-5.5', `#bytes ${12 * mebibyte}`);
        const { response, text } = await post('/v1/responses', relayHeaders(token, '/v1/responses'), body);
        expect(response.status).toBe(200);
        const last = text.slice(text.lastIndexOf('event: response.completed\n'));
        const data = JSON.parse(/^data: (.*)$/m.exec(last)?.[1] ?? '{}');
        expect(digestOf(data.response.output[0].content[0].text)).toBe(digestOf(contentOf(12 * mebibyte)));
        expect((await usageOf(gateway(), token)).today.outputTokens).toBe(data.response.usage.output_tokens);
      },
      timeout,
    );
  });
}

function newestOf(requests: readonly RecordedRequest[]): RecordedRequest | undefined {
  return requests.toSorted((a, b) => b.id - a.id)[0];
}

/** The simulator's answer. */
function contentOf(bytes: number): string {
  return '0123456789abcdef'.repeat(bytes / 16);
}

/** Failures are easier to read than megabytes. */
function digestOf(text: string): string {
  return `${text.length} ${createHash('sha256').update(text).digest('hex')}`;
}

/** The members in the order of the text. */
function inOrderOf(text: string, members: Readonly<Record<string, unknown>>): object {
  const order = Object.keys(JSON.parse(text));
  return Object.fromEntries(order.map((key) => [key, members[key]]));
}
