import { Code, ConnectError } from '@connectrpc/connect';
import { PlaygroundEndpoint, PlaygroundService } from '@gateway/proto/admin/v1/playground_service_pb.js';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { messagesBody, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const { MODELS, CHAT_COMPLETIONS, MESSAGES, RESPONSES } = PlaygroundEndpoint;
const chatBody = { model: 'gateway/sterk', messages: [{ role: 'user', content: 'Hi' }], stream: true };

/** Requests of the console's playground, which the admin service relays to the public API. */
export function playgroundBehaviour(gateway: () => Topology): void {
  describe('a request of the playground', () => {
    const relay = (endpoint: PlaygroundEndpoint, tokenText: string, body: object, signal?: AbortSignal) =>
      adminClient(PlaygroundService, gateway()).relay(
        { endpoint, tokenText, body: JSON.stringify(body) },
        signal && { signal },
      );

    it('is one of its token in the request log and in its usage, from each endpoint', async () => {
      const { text, tokenId } = await issueToken(gateway());
      const asked = [
        [CHAT_COMPLETIONS, '/v1/chat/completions', chatBody],
        [MESSAGES, '/v1/messages', messagesBody('claude-sonnet-5', 'Hi', { stream: true })],
        [RESPONSES, '/v1/responses', responsesBody('gpt-5.5', 'Hi')],
      ] as const;
      const ids = new Map<string, string>();
      for (const [endpoint, path, body] of asked) {
        const answer = await received(relay(endpoint, text, body));
        expect([path, answer.status]).toEqual([path, 200]);
        expect(answer.headers['content-type']).toContain('text/event-stream');
        expect(answer.body).toContain('data: ');
        ids.set(answer.headers['x-request-id'] ?? '', path);
      }
      const logged = async () => {
        const requests = await gateway().operator.requestsOf(tokenId);
        return new Map(requests.map(({ requestId, endpoint }) => [requestId, endpoint]));
      };
      await expect.poll(logged).toEqual(ids);
      await expect.poll(async () => (await usageOf(gateway(), text)).today.requests).toBe(3);
      const listed = await received(relay(MODELS, text, {}));
      expect(JSON.parse(listed.body)).toMatchObject({ object: 'list', data: expect.any(Array) });
    });

    it('is refused as that of a client is', async () => {
      const { text } = await issueToken(gateway(), { requestsPerMinute: 1 });
      expect(await received(relay(CHAT_COMPLETIONS, `${text}x`, chatBody))).toMatchObject({ status: 401 });
      expect(await received(relay(RESPONSES, text, responsesBody('no-such-model', 'Hi')))).toMatchObject({
        ...{ status: 404, body: expect.stringContaining('model_not_found') },
      });
      const second = await received(relay(CHAT_COMPLETIONS, text, chatBody));
      expect(second).toMatchObject({ status: 429, body: expect.stringContaining('rate_limit_exceeded') });
      expect(Number(second.headers['retry-after'])).toBeGreaterThan(0);
    });

    it('ends when its page is left', async () => {
      const { faults } = gateway().simulator;
      const { text, tokenId } = await issueToken(gateway());
      const slow = faults.add({ fault: { kind: 'delay', beforeFirstEventMs: 0, betweenEventsMs: 3_000 } });
      const leave = new AbortController();
      const stream = relay(CHAT_COMPLETIONS, text, chatBody, leave.signal)[Symbol.asyncIterator]();
      for (let parts = 0; parts < 2; parts++) await stream.next();
      leave.abort();
      await expect(stream.next()).rejects.toSatisfy((error) => ConnectError.from(error).code === Code.Canceled);
      const endings = async () => (await gateway().operator.requestsOf(tokenId)).map(({ ending }) => ending);
      await expect.poll(endings).toEqual([RequestEnding.ABORTED]);
      faults.clear(slow);
    });
  });
}

async function received(stream: ReturnType<ReturnType<typeof adminClient<typeof PlaygroundService>>['relay']>) {
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  const chunks: Uint8Array[] = [];
  for await (const { part } of stream) {
    if (part.case === 'bytes') chunks.push(part.value);
    if (part.case !== 'head') continue;
    status = part.value.status;
    headers = Object.fromEntries(part.value.headers.map(({ name, value }) => [name, value]));
  }
  return { status, headers, body: Buffer.concat(chunks).toString() };
}
