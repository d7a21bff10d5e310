import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { ContentTooLargeError, OverloadedError, ServiceUnavailableError } from '@anthropic-ai/sdk/error';
import { beforeAll, describe, expect, it } from 'vitest';
import { anthropicClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const messages = [{ role: 'user' as const, content: 'hello' }];
const ask = (client: Anthropic, model: string) => client.messages.create({ model, max_tokens: 100, messages });

/** The error classes of the official `@anthropic-ai/sdk` package. @see spec "Shapes" */
export function anthropicErrorsBehaviour(gateway: () => Topology): void {
  describe('the errors of the @anthropic-ai/sdk package', () => {
    let client: Anthropic;
    beforeAll(async () => {
      client = anthropicClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    it.each([
      ['a message', (stranger: Anthropic) => ask(stranger, 'gateway/claude')],
      ['a count', (stranger: Anthropic) => stranger.messages.countTokens({ model: 'gateway/claude', messages })],
      [
        'a stream',
        (stranger: Anthropic) =>
          stranger.messages.stream({ model: 'gateway/claude', max_tokens: 100, messages }).finalMessage(),
      ],
    ])('for an unknown token, asked for %s, is AuthenticationError', async (_what, askAs) => {
      const thrown = await rejectionOf(askAs(anthropicClient(gateway(), 'sk-ant-nobody')));
      expect(thrown).toBeInstanceOf(AuthenticationError);
      expect(thrown).toMatchObject({
        status: 401,
        type: 'authentication_error',
        apiMessage: expect.stringMatching(/\S/),
      });
    });

    it('for a wrong field is BadRequestError that names it', async () => {
      const thrown = await rejectionOf(client.post('/v1/messages', { body: { model: 'gateway/claude', messages } }));
      expect(thrown).toBeInstanceOf(BadRequestError);
      expect(thrown).toMatchObject({
        status: 400,
        type: 'invalid_request_error',
        apiMessage: expect.stringContaining('max_tokens'),
      });
    });

    it.each(['no-such-model', 'gateway/nothing', 'gateway/rotating', 'gpt-5.5'])(
      'for the model %s is NotFoundError',
      async (model) => {
        const thrown = await rejectionOf(ask(client, model));
        expect(thrown).toBeInstanceOf(NotFoundError);
        expect(thrown).toMatchObject({ status: 404, type: 'not_found_error' });
      },
    );

    it('for a body that is too large is ContentTooLargeError', async () => {
      const content = 'x'.repeat(16 * 1024 * 1024);
      const large = { model: 'gateway/claude', max_tokens: 100, messages: [{ role: 'user' as const, content }] };
      const thrown = await rejectionOf(client.messages.create(large));
      expect(thrown).toBeInstanceOf(ContentTooLargeError);
      expect(thrown).toMatchObject({ status: 413, type: 'request_too_large' });
    });

    it('for a token over its limit is RateLimitError', async () => {
      const limited = anthropicClient(gateway(), (await issueToken(gateway(), { requestsPerMinute: 1 })).text);
      await limited.messages.countTokens({ model: 'gateway/claude', messages });
      const thrown = await rejectionOf(ask(limited, 'gateway/claude'));
      expect(thrown).toBeInstanceOf(RateLimitError);
      expect(thrown).toMatchObject({ status: 429, type: 'rate_limit_error' });
      expect(thrown instanceof APIError && Number(thrown.headers?.get('retry-after'))).toBeGreaterThan(0);
    });

    it.each([
      [400, BadRequestError],
      [529, OverloadedError],
    ])("for a provider's %i has the class of its status and a generic type", async (status, errorClass) => {
      const body = { type: 'error', error: { type: 'overloaded_error', message: 'account 4711' } };
      const fault = { kind: 'status', status, body } as const;
      gateway().simulator.faults.add({ account: 'brittle-a', times: 1, fault });
      const thrown = await rejectionOf(ask(client, 'gateway/brittle'));
      expect(thrown).toBeInstanceOf(errorClass);
      expect(thrown).toMatchObject({
        status,
        type: 'api_error',
        errorCode: null,
        error: { error: { code: 'subscription_upstream_error' } },
      });
      expect(String(thrown)).not.toContain('4711');
    });

    it('keeps the code by which the package recovers a thread', async () => {
      const details = { error_code: 'thread_not_found', thread: 'account 4711' };
      const body = { type: 'error', error: { type: 'not_found_error', message: 'account 4711', details } };
      const fault = { kind: 'status', status: 404, body } as const;
      gateway().simulator.faults.add({ account: 'brittle-a', times: 1, fault });
      const thrown = await rejectionOf(ask(client, 'gateway/brittle'));
      expect(thrown).toBeInstanceOf(NotFoundError);
      expect(thrown).toMatchObject({ status: 404, type: 'api_error', errorCode: 'thread_not_found' });
      expect(JSON.stringify(thrown)).not.toContain('4711');
    });

    it('for a pool that cannot be reached is ServiceUnavailableError', async () => {
      // More than once: a request on an idle connection that closes is sent again.
      const { faults } = gateway().simulator;
      const id = faults.add({ account: 'absent-a', fault: { kind: 'reset' } });
      const thrown = await rejectionOf(ask(client, 'gateway/absent'));
      faults.clear(id);
      expect(thrown).toBeInstanceOf(ServiceUnavailableError);
      expect(thrown).toMatchObject({ status: 503, type: 'api_error' });
    });

    it('in the middle of a stream is APIError with a generic message', async () => {
      const faults = [
        { kind: 'delay', betweenEventsMs: 40 },
        { kind: 'error_event', afterEvents: 12, error: { message: 'account 4711' } },
      ] as const;
      for (const fault of faults) gateway().simulator.faults.add({ path: '/v1/messages', times: 1, fault });
      const stream = client.messages.stream({
        model: 'gateway/faltering',
        max_tokens: 500,
        messages: [{ role: 'user', content: '#long 60' }],
      });
      const thrown = await rejectionOf(stream.finalMessage());
      expect(thrown).toBeInstanceOf(Anthropic.APIError);
      expect(thrown).toMatchObject({ type: 'api_error' });
      expect(stream.currentMessage?.content).toHaveLength(1);
      expect(String(thrown)).not.toContain('4711');
    });
  });
}
