import type OpenAI from 'openai';
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const messages = [{ role: 'user' as const, content: 'hello' }];
const input = [{ role: 'user' as const, content: 'hello' }];

/**
 * The error classes of the official `openai` package, one for each status of the specification.
 * @see spec "Codes"
 */
export function openAiErrorsBehaviour(gateway: () => Topology): void {
  describe('the errors of the openai package', () => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    const chat = (model: string) => client.chat.completions.create({ model, messages });
    const stream = (model: string, on = client) => on.responses.create({ model, input, stream: true });
    const failOnce = (account: string, status: number) =>
      gateway().simulator.faults.add({ account, times: 1, fault: { kind: 'status', status, body: { detail: 'no' } } });

    it.each([
      ['chat', (stranger: OpenAI) => stranger.chat.completions.create({ model: 'gateway/sterk', messages })],
      ['responses', (stranger: OpenAI) => stream('gpt-5.5', stranger)],
      ['the models', (stranger: OpenAI) => stranger.models.list()],
    ])('for an unknown token on %s is AuthenticationError', async (_where, ask) => {
      const thrown = await rejectionOf(ask(openAiClient(gateway(), 'sk-nobody')));
      expect(thrown).toBeInstanceOf(AuthenticationError);
      expect(thrown).toMatchObject({ status: 401, code: 'unauthorized', message: expect.stringContaining('401 ') });
    });

    it.each([
      ['chat', () => client.chat.completions.create({ model: 'gateway/sterk', messages: [] })],
      ['responses', () => client.responses.create({ model: 'gpt-5.5', input: 'a string', stream: true })],
    ])('for a wrong field on %s is BadRequestError', async (_where, ask) => {
      const thrown = await rejectionOf(ask());
      expect(thrown).toBeInstanceOf(BadRequestError);
      expect(thrown).toMatchObject({ status: 400, code: 'invalid_request' });
    });

    it.each([
      ['chat', () => chat('no-such-model')],
      ['responses', () => stream('no-such-model')],
      ['responses, for a class', () => stream('gateway/sterk')],
      ['responses, for a Messages model', () => stream('claude-sonnet-5')],
    ])('for an unknown model on %s is NotFoundError', async (_where, ask) => {
      const thrown = await rejectionOf(ask());
      expect(thrown).toBeInstanceOf(NotFoundError);
      expect(thrown).toMatchObject({ status: 404, code: 'model_not_found' });
    });

    it('for an unknown path is NotFoundError', async () => {
      const thrown = await rejectionOf(client.embeddings.create({ model: 'gpt-5.5', input: 'hello' }));
      expect(thrown).toBeInstanceOf(NotFoundError);
      expect(thrown).toMatchObject({ code: 'not_found' });
    });

    it('for a body that is too large is APIError with status 413', async () => {
      const content = 'x'.repeat(16 * 1024 * 1024);
      const thrown = await rejectionOf(
        client.chat.completions.create({ model: 'gateway/sterk', messages: [{ role: 'user', content }] }),
      );
      expect(thrown).toBeInstanceOf(APIError);
      expect(thrown).toMatchObject({ status: 413, code: 'body_too_large' });
    });

    it.each([
      ['chat', (limited: OpenAI) => limited.chat.completions.create({ model: 'gateway/snel', messages })],
      ['responses', (limited: OpenAI) => stream('gpt-5.5', limited)],
    ])('for a token over its limit on %s is RateLimitError', async (_where, ask) => {
      const token = await issueToken(gateway(), { requestsPerMinute: 1 });
      const limited = openAiClient(gateway(), token.text);
      await limited.models.list();
      const thrown = await rejectionOf(ask(limited));
      expect(thrown).toBeInstanceOf(RateLimitError);
      expect(thrown).toMatchObject({
        status: 429,
        code: 'rate_limit_exceeded',
        error: { limit: 'requests_per_minute', retryAt: expect.any(String) },
      });
    });

    it('for a request that the provider refuses has the class of its status', async () => {
      failOnce('refusing-a', 422);
      const thrown = await rejectionOf(chat('gateway/refusing'));
      expect(thrown).toBeInstanceOf(UnprocessableEntityError);
      expect(thrown).toMatchObject({ status: 422, code: 'upstream_rejected' });
    });

    it('for providers that are down is InternalServerError', async () => {
      failOnce('unable-a', 500);
      const thrown = await rejectionOf(chat('gateway/unable'));
      expect(thrown).toBeInstanceOf(InternalServerError);
      expect(thrown).toMatchObject({ status: 503, code: 'providers_unavailable' });
    });

    const faultyModels = [
      ['gpt-faltering', { model: 'gpt-faltering' }],
      ['gateway/faltering', { path: '/v1/messages' }],
    ] as const;
    const message = 'account 4711 of the provider';
    const breaks = [
      ['breaks off', { kind: 'reset', afterEvents: 12 }],
      ['ends too early', { kind: 'end', afterEvents: 12 }],
      ['reports an error', { kind: 'error_event', afterEvents: 12, error: { type: 'secret_error', message } }],
      ['fails', { kind: 'failed', afterEvents: 12, error: { code: 'rate_limit_exceeded', message } }],
      ['turns into nonsense', { kind: 'broken_json', afterEvents: 12 }],
    ] as const;
    /** Slow enough that the client's answer has begun before it fails. */
    const slowly = { kind: 'delay', betweenEventsMs: 40 } as const;
    const story = [{ role: 'user' as const, content: '#long 60' }];

    describe.each(faultyModels)('in the middle of a stream of %s', (model, whom) => {
      it.each(breaks)('that %s are APIError with the code of the gateway', async (_what, fault) => {
        for (const each of [slowly, fault]) gateway().simulator.faults.add({ ...whom, times: 1, fault: each });
        const stream = client.chat.completions.stream({ model, messages: story });
        const contents: string[] = [];
        stream.on('content.delta', ({ delta }) => contents.push(delta));
        const thrown = await rejectionOf(stream.finalContent());
        expect(thrown).toBeInstanceOf(APIError);
        expect(thrown).toMatchObject({ code: 'providers_unavailable' });
        expect(contents.join('')).toMatch(/^the gateway/);
        expect(String(thrown)).not.toContain('4711');
      });

      it('are thrown in the loop over its chunks, after those that came', async () => {
        const fault = { kind: 'reset', afterEvents: 12 } as const;
        for (const each of [slowly, fault]) gateway().simulator.faults.add({ ...whom, times: 1, fault: each });
        const finishReasons: unknown[] = [];
        const read = async () => {
          const stream = await client.chat.completions.create({ model, messages: story, stream: true });
          for await (const { choices } of stream) finishReasons.push(choices[0]?.finish_reason);
        };
        expect(await rejectionOf(read())).toMatchObject({ code: 'providers_unavailable' });
        expect(finishReasons.length).toBeGreaterThan(1);
        expect(finishReasons.every((reason) => reason === null)).toBe(true);
      });
    });

    it.each(faultyModels)(
      'in the middle of a completion of %s are none: another account answers',
      async (model, whom) => {
        const lastId = gateway().simulator.requests({ limit: 1 })[0]?.id;
        for (const fault of [slowly, { kind: 'reset', afterEvents: 12 } as const]) {
          gateway().simulator.faults.add({ ...whom, times: 1, fault });
        }
        const { choices } = await client.chat.completions.create({ model, messages: story });
        expect(choices[0]?.message.content?.split(' ')).toHaveLength(60);
        expect(choices[0]?.finish_reason).toBe('stop');
        const accounts = gateway()
          .simulator.requests({ afterId: lastId })
          .filter(({ path }) => path !== '/v1/models')
          .map(({ account }) => account);
        expect(new Set(accounts).size).toBe(2);
      },
    );
  });
}
