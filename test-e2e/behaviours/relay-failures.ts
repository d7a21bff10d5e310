import type { FaultScript } from '@gateway/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { askAgain, withoutIds } from '../client/provider-record.ts';
import { messagesBodies, messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/** Slow enough that the client's answer has begun before it fails. */
const slowly = { kind: 'delay', betweenEventsMs: 40 } as const;
const secret = 'account 4711 of the provider';

/** Provider failures on a relay, as the client sees them. @see spec "Events", "Shapes" */
export function relayFailuresBehaviour(gateway: () => Topology): void {
  describe('when the provider of a relay fails', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const askMessages = async (...faults: readonly FaultScript['fault'][]) => {
      for (const fault of faults) gateway().simulator.faults.add({ path: '/v1/messages', times: 1, fault });
      const body = messagesBody('gateway/faltering', '#long 60', { stream: true });
      const answer = await relay(gateway(), token, { path: '/v1/messages', body });
      return { ...answer, record: lastRequest({ path: '/v1/messages' }) };
    };
    const askResponses = async (model: string, ...faults: readonly FaultScript['fault'][]) => {
      for (const fault of faults) gateway().simulator.faults.add({ model, times: 1, fault });
      const answer = await relay(gateway(), token, { path: '/v1/responses', body: responsesBody(model, '#long 60') });
      return { ...answer, record: lastRequest({ model }) };
    };
    const lastRequest = (filter: { readonly path?: string; readonly model?: string }) =>
      gateway().simulator.requests({ ...filter, limit: 1 })[0] ?? expect.fail('the provider got no request');

    it.each([
      ['reports an error', { kind: 'error_event', afterEvents: 12, error: { type: 'secret_error', message: secret } }],
      ['breaks off', { kind: 'reset', afterEvents: 12 }],
      ['ends too early', { kind: 'end', afterEvents: 12 }],
    ] as const)('a Messages stream that %s ends with one generic error event', async (_what, fault) => {
      const { status, text, record } = await askMessages(slowly, fault);
      expect(status).toBe(200);
      // The gateway hangs up at the error: the provider may notice that before its fault is
      // complete.
      const outcome = () => lastRequest({ path: '/v1/messages' }).outcome;
      await expect.poll(outcome, { interval: 20 }).toMatch(/^(faulted|cancelled)$/);
      const whole = await askAgain(gateway().simulator, record);
      const at = text.indexOf('event: error\n');
      expect(at).toBeGreaterThan(0);
      expect(withoutIds(whole.text).startsWith(withoutIds(text.slice(0, at)))).toBe(true);
      expect(text.slice(0, at)).toContain('event: content_block_delta');
      const [, data = ''] = /^event: error\ndata: (.*)\n\n$/.exec(text.slice(at)) ?? [];
      expect(JSON.parse(data)).toEqual({ type: 'error', error: { type: 'api_error', message: expect.any(String) } });
      expect(text).not.toMatch(/secret|4711|message_stop/);
    });

    it.each([
      ['response.failed', { kind: 'failed', afterEvents: 12, error: { code: 'server_error', message: secret } }],
      ['an error event', { kind: 'error_event', afterEvents: 12, error: { code: 'server_error', message: secret } }],
    ] as const)('a Responses stream that ends with %s is relayed as sent', async (_what, fault) => {
      const { status, text, record } = await askResponses('gpt-faltering', slowly, fault);
      expect(status).toBe(200);
      gateway().simulator.faults.add({ model: 'gpt-faltering', times: 1, fault });
      const direct = await askAgain(gateway().simulator, record);
      expect(withoutIds(text)).toBe(withoutIds(direct.text));
      expect(text).toContain(secret);
    });

    it('a Responses stream that breaks off is ended with response.failed', async () => {
      const { status, text, record } = await askResponses('gpt-faltering', slowly, {
        kind: 'reset',
        afterEvents: 12,
      });
      expect(status).toBe(200);
      const whole = await askAgain(gateway().simulator, record);
      const at = text.indexOf('event: response.failed\n');
      expect(at).toBeGreaterThan(0);
      expect(withoutIds(whole.text).startsWith(withoutIds(text.slice(0, at)))).toBe(true);
      const [, data = ''] = /^event: response\.failed\ndata: (.*)\n\n$/.exec(text.slice(at)) ?? [];
      expect(JSON.parse(data)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code: expect.any(String), message: expect.any(String) } },
      });
    });

    it.each([
      [400, 'application/json', { detail: secret }],
      [404, 'application/json; charset=utf-8', { error: { message: secret, type: 'x', code: null, nested: [1] } }],
      [422, 'text/plain', `not JSON: ${secret}`],
      [413, 'text/html', '<h1>413</h1>'],
      // This test is the last one, since the account may pause.
      [503, 'application/json', { error: { message: secret } }],
    ])("a Responses client gets the provider's %i with its body unchanged", async (status, type, body) => {
      const headers = { 'content-type': type };
      const answer = await askResponses('gpt-refusing', { kind: 'status', status, headers, body });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe(type);
      expect(answer.text).toBe(typeof body === 'string' ? body : JSON.stringify(body));
    });

    it.each([
      [400, 'invalid_request_error'],
      [404, 'not_found_error'],
      [413, 'request_too_large'],
      [422, 'invalid_request_error'],
    ])("a Messages client gets the provider's %i with a generic body", async (status, type) => {
      const body = { type: 'error', error: { type, message: secret } };
      const answer = await askMessages({ kind: 'status', status, body });
      expect(answer.status).toBe(status);
      expect(answer.json).toEqual({
        type: 'error',
        error: { type: 'api_error', code: 'subscription_upstream_error', message: expect.any(String) },
      });
      expect(answer.text).not.toContain('4711');
    });

    describe.each(['/v1/messages', '/v1/messages/count_tokens'] as const)('a client of %s reads', (path) => {
      const messageFor = async (status: number, type: string, text: string) => {
        const error = { type: 'error', error: { type, message: text } };
        // For faults of the provider, three accounts are tried.
        const times = status < 500 ? 1 : 3;
        gateway().simulator.faults.add({ path, times, fault: { kind: 'status', status, body: error } });
        const answer = await relay(gateway(), token, { path, body: messagesBodies[path]('gateway/worded', 'Hi') });
        expect(answer.status).toBe(status);
        expect(answer.text).not.toMatch(/4711|\d{4,}/);
        expect(answer.json).toMatchObject({ error: { type: 'api_error', code: 'subscription_upstream_error' } });
        return (answer.json as { error: { message: string } }).error.message;
      };

      it('that the prompt is too long, on which agents compact', async () => {
        const text = 'prompt is too long: 210000 tokens > 200000 maximum';
        expect(await messageFor(400, 'invalid_request_error', text)).toMatch(/prompt is too long/i);
      });

      it.each([
        'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length',
        'max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for this model',
      ])('that max_tokens is too large, on which no agent compacts: %s', async (text) => {
        const message = await messageFor(400, 'invalid_request_error', text);
        expect(message).toMatch(/max_tokens is too large/);
        expect(message).not.toMatch(/too long|context|compact/i);
      });

      it.each([
        ["role 'system' is not supported on this model", 'mid_conv_system'],
        ['adaptive thinking is not supported on this model', 'thinking_type:adaptive'],
        ['This model does not support the effort parameter.', 'effort_unsupported'],
        ['messages.1.content.0: Invalid `signature` in `thinking` block', 'thinking_signature'],
      ])('an unsupported member, without which Claude Code retries: %s', async (text, capability) => {
        expect(await messageFor(400, 'invalid_request_error', text)).toContain(`(capability_rejected: ${capability})`);
      });

      it.each([
        [400, 'invalid_request_error', 'The provider rejected the request.'],
        [413, 'request_too_large', 'The provider rejected the request: it is too large.'],
        [529, 'overloaded_error', 'The provider is overloaded. Try again later.'],
        [500, 'api_error', 'The provider failed to answer the request.'],
      ])('which kind of error it is, in our words: %i %s', async (status, type, message) => {
        expect(await messageFor(status, type, secret)).toBe(message);
      });
    });

    it('a Messages stream that breaks off says why, in our words', async () => {
      const error = { type: 'overloaded_error', message: secret };
      const { text } = await askMessages(slowly, { kind: 'error_event', afterEvents: 12, error });
      const data = /event: error\ndata: (.*)\n\n$/.exec(text)?.[1] ?? '';
      const message = 'The provider is overloaded. Try again later.';
      expect(JSON.parse(data)).toEqual({ type: 'error', error: { type: 'api_error', message } });
    });
  });
}
