import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { countBody, messagesBody, relay, responsesBody } from '../client/relay.ts';
import { anthropicClient, openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

interface ShownRequest {
  readonly request: { readonly request: { readonly clientRequestId: string } };
}

const ours = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Every answer has the id of its request; operators find it by that id. The contract matrix checks
 * all answers of endpoints.
 */
export function requestIdsBehaviour(gateway: () => Topology): void {
  describe('the id of a request', () => {
    let [tokenId, token] = ['', ''];
    beforeAll(async () => {
      ({ tokenId, text: token } = await issueToken(gateway(), { kind: 'personal' }));
    });
    const host = () => new URL(gateway().baseUrl).host;
    const authorized = () => ({ host: host(), authorization: `Bearer ${token}` });

    it.each([
      ['what is no HTTP', 400, () => 'Hello, gateway!\r\n\r\n'],
      ['no host', 400, () => head('GET /v1/models', {})],
      ['a target of another scheme', 400, () => head('GET ftp://gateway/v1/models', { host: 'gateway' })],
      ['an absolute target', 401, () => head('GET http://gateway/v1/models', { host: 'gateway' })],
      ['two lengths', 400, () => head('POST /v1/responses', { ...authorized(), 'content-length': ['5', '6'] })],
      [
        'a broken chunk',
        400,
        () => `${head('POST /v1/responses', { ...authorized(), 'transfer-encoding': 'chunked' })}zz\r\n`,
      ],
      ['headers that are too large', 431, () => head('GET /', { host: host(), 'x-a': 'a'.repeat(40_000) })],
      ['a tunnel', 405, () => head('CONNECT example.org:443', { host: 'example.org:443' })],
      ['an unknown expectation', 417, () => head('GET /v1/models', { ...authorized(), expect: 'wonders' })],
      [
        'a WebSocket',
        426,
        () => head('GET /v1/responses', { host: host(), connection: 'upgrade', upgrade: 'websocket' }),
      ],
      ['an unknown path', 404, () => head('GET /v2', { host: host() })],
      ['a wrong method', 405, () => head('DELETE /v1/models', { host: host() })],
      [
        'a body that is too large',
        413,
        () => head('POST /v1/responses', { ...authorized(), 'content-length': '67108865' }),
      ],
      ['no token', 401, () => head('GET /v1/usage', { host: host() })],
    ])('is on the answer to %s', async (_what, status, request) => {
      using connection = new RawConnection(gateway());
      const answer = await connection.send(request()).answer();
      expect(answer.status).toBe(status);
      expect(answer.headers.get('x-request-id')).toMatch(ours);
    });

    it('is another one for each of several answers on a connection', async () => {
      using connection = new RawConnection(gateway());
      const request = head('GET /v1/usage', authorized());
      connection.send(request + request);
      const [first, second] = [await connection.answer(), await connection.answer()];
      expect(first.headers.get('x-request-id')).toMatch(ours);
      expect(second.headers.get('x-request-id')).toMatch(ours);
      expect(first.headers.get('x-request-id')).not.toBe(second.headers.get('x-request-id'));
    });

    it("is ours on relayed answers and streams, not the provider's", async () => {
      const requests = [
        { path: '/v1/messages', body: messagesBody('claude-sonnet-5', 'hello') },
        { path: '/v1/messages', body: messagesBody('claude-sonnet-5', 'hello', { stream: true }) },
        { path: '/v1/messages/count_tokens', body: countBody('claude-sonnet-5', 'hello') },
        { path: '/v1/responses', body: responsesBody('gpt-5.5', 'hello') },
      ] as const;
      for (const request of requests) {
        const { status, text, headers } = await relay(gateway(), token, request);
        expect(status, text).toBe(200);
        expect(headers.get('x-request-id')).toMatch(ours);
        const isMessages = request.path.startsWith('/v1/messages');
        expect(headers.get('request-id')).toBe(isMessages ? headers.get('x-request-id') : null);
      }
      const stream = await chat(gateway(), token, { model: 'gateway/claude', stream: true });
      expect(stream.headers.get('x-request-id')).toMatch(ours);
    });

    /** The output of `gatewayctl request`, once the request is logged. */
    const shownRequest = async (requestId: string, ...flags: string[]) => {
      const logged = async () => (await gateway().operator.requestsOf(tokenId)).map((each) => each.requestId);
      await expect.poll(logged).toContain(requestId);
      return gatewayctl(['request', requestId, ...flags], commandLineSettings(gateway()));
    };

    it('leads operators to the request, as does the name that its client gave it', async () => {
      const own = `run-${crypto.randomUUID()}`;
      const answer = await chat(gateway(), token, { model: 'gateway/claude' }, { headers: { 'x-request-id': own } });
      const requestId = answer.headers.get('x-request-id') ?? '';
      expect(requestId).toMatch(ours);
      expect((answer.json as { readonly id: string }).id).toContain(requestId);
      const shown = await shownRequest(requestId);
      expect(shown).toMatchObject({ exitCode: 0 });
      expect(shown.stdout).toContain(requestId);
      expect(shown.stdout).toContain(own);
    });

    it('leads operators to the size of its body, in words and in an export', async () => {
      const body = { messages: [{ role: 'user', content: 'x'.repeat(2_000) }], model: 'gateway/claude' };
      const requestId = (await chat(gateway(), token, body)).headers.get('x-request-id') ?? '';
      expect((await shownRequest(requestId)).stdout).toMatch(/^body +2\.0\sKiB$/m);
      const headers = { authorization: `Bearer ${gateway().adminToken}` };
      const answer = await fetch(`${gateway().adminUrl}/export/requests?request_id=${requestId}`, { headers });
      const [names = '', row = ''] = (await answer.text()).split('\r\n');
      const exported = row.split(',')[names.split(',').indexOf('body_bytes')];
      expect(exported).toBe(String(JSON.stringify(body).length));
    });

    it("is never a client's own, whatever its form, and keeps the harmless part of that", async () => {
      const stolen = (await chat(gateway(), token, { model: 'gateway/claude' })).headers.get('x-request-id') ?? '';
      using connection = new RawConnection(gateway());
      const body = JSON.stringify({ model: 'gateway/claude', messages: [{ role: 'user', content: 'hello' }] });
      const length = { 'content-length': String(body.length) };
      for (const given of [stolen, 'x'.repeat(20_000), 'a\tb\xffc']) {
        const request = head('POST /v1/chat/completions', { ...authorized(), ...length, 'x-request-id': given });
        const answer = await connection.send(request + body).answer();
        expect(answer.status, answer.text).toBe(200);
        const requestId = answer.headers.get('x-request-id') ?? '';
        expect(requestId).toMatch(ours);
        expect(requestId).not.toBe(stolen);
        const shown = await shownRequest(requestId, '-o', 'json');
        const { request: found } = JSON.parse(shown.stdout) as ShownRequest;
        const { clientRequestId } = found.request;
        expect(clientRequestId).toMatch(/^[\x21-\x7e]{1,128}$/);
      }
    });

    it('is in the answers and errors of the official SDKs', async () => {
      const openai = openAiClient(gateway(), token);
      const completion = await openai.chat.completions.create({
        model: 'gateway/claude',
        messages: [{ role: 'user', content: 'hello' }],
      });
      expect(completion._request_id).toMatch(ours);
      const openAiError = await rejectionOf(openai.models.retrieve('none'));
      expect(openAiError).toBeInstanceOf(OpenAI.APIError);
      expect(openAiError).toMatchObject({ requestID: expect.stringMatching(ours) });

      const anthropic = anthropicClient(gateway(), token);
      const body = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
      const message = await anthropic.messages.create({ model: 'claude-sonnet-5', ...body });
      expect(message._request_id).toMatch(ours);
      const anthropicError = await rejectionOf(anthropic.messages.create({ model: 'none', ...body }));
      expect(anthropicError).toBeInstanceOf(Anthropic.APIError);
      expect(anthropicError).toMatchObject({ requestID: expect.stringMatching(ours) });
    });

    it('comes with a 401 that keeps SDKs from repeating the request', async () => {
      const unknown = token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
      let attempts = 0;
      const counted: typeof fetch = (input, init) => {
        attempts++;
        return fetch(input, init);
      };
      const openAiError = await rejectionOf(
        openAiClient(gateway(), unknown, { fetch: counted, maxRetries: 3 }).models.list(),
      );
      expect(openAiError).toMatchObject({ status: 401, requestID: expect.stringMatching(ours) });
      const { headers } = await relay(gateway(), unknown, { path: '/v1/messages', body: messagesBody('m', 'hello') });
      expect(headers.get('x-should-retry')).toBe('false');
      expect(attempts).toBe(1);
    });
  });
}
