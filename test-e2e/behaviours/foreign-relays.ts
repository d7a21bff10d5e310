import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { ForeignProviders } from '../topologies/foreign-providers.ts';
import type { Topology } from '../topologies/topology.ts';

const questions = ['greet', 'reason', 'forecast', 'search', 'too long', 'nothing'];

/** What a relay gives a client is what the provider answers without a gateway. */
export function foreignRelaysBehaviour(providers: ForeignProviders) {
  return (gateway: () => Topology): void => {
    describe.each(questions)('the relayed answer to “%s” of a foreign provider', (question) => {
      const relayed = async (path: '/v1/messages' | '/v1/responses', body: object) => {
        const { text: token } = await issueToken(gateway(), { kind: 'personal' });
        const { status, text } = await relay(gateway(), token, { path, body });
        expect(status).toBe(200);
        return withoutChance(text);
      };

      it.each([{ stream: true }, { stream: false }])('is its own, on /v1/messages with %j', async (more) => {
        const body = messagesBody('claude-sonnet-5', question, more);
        expect(await relayed('/v1/messages', body)).toBe(await direct(`${providers.messages.url}/v1/messages`, body));
      });

      it('is its own, on /v1/responses', async () => {
        const body = responsesBody('gpt-5.5', question);
        const asked = { ...body, stream: true, store: false };
        expect(await relayed('/v1/responses', body)).toBe(
          await direct(`${providers.responses.url}/v1/responses`, asked),
        );
      });
    });

    it('a count that a foreign provider can’t give is an error, and takes nothing from the model', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const { max_tokens: _, ...body } = messagesBody('claude-sonnet-5', 'greet');
      for (let n = 0; n < 6; n++) {
        const counted = await relay(gateway(), token, { path: '/v1/messages/count_tokens', body });
        expect(counted.status).toBeGreaterThanOrEqual(400);
        expect(counted.json).toMatchObject({ type: 'error', error: { message: expect.any(String) } });
      }
      const answered = await relay(gateway(), token, { path: '/v1/messages', body: { ...body, max_tokens: 100 } });
      expect(answered.status).toBe(200);
    });
  };
}

async function direct(url: string, body: object): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(roomMs(30_000)),
  });
  return withoutChance(await response.text());
}

/** Without ids, what is made of them, and the time. */
function withoutChance(text: string): string {
  return text
    .replaceAll(/\b(msg|resp|rs|fc|ws|call|toolu)[-_][\w-]{16}/g, '$1')
    .replaceAll(/"encrypted_content":"[^"]*"/g, '"encrypted_content":""')
    .replaceAll(/"created_at":\d+/g, '"created_at":0');
}
