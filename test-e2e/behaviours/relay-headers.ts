import { beforeAll, describe, expect, it } from 'vitest';
import { lastRequestTo } from '../client/provider-record.ts';
import { messagesBodies, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const strangers = {
  cookie: 'session=stranger',
  'user-agent': 'stranger/1.0',
  'x-forwarded-for': '203.0.113.7',
  'x-stainless-os': 'stranger',
  'x-custom': 'stranger',
  'session-id': 'stranger',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'openai-organization': 'stranger',
  'accept-language': 'stranger',
};

const codexHeaders = { 'x-openai-internal-codex-responses-lite': 'true', 'x-codex-turn-state': 'state-1' };

const versions: readonly (readonly [string, Record<string, string>, { version: string; beta?: string }])[] = [
  ['the default version', {}, { version: '2023-06-01' }],
  ['a version', { 'partner-version': '2026-10-21' }, { version: '2026-10-21' }],
  ['a version in the other spelling', { 'anthropic-version': '2026-10-21' }, { version: '2026-10-21' }],
  [
    "the partner's of two versions",
    { 'partner-version': '2025-01-01', 'anthropic-version': '2026-10-21' },
    { version: '2025-01-01' },
  ],
  ['a beta', { 'partner-beta': 'one-2026-01-01' }, { version: '2023-06-01', beta: 'one-2026-01-01' }],
  ['a beta in the other spelling', { 'anthropic-beta': 'one, two' }, { version: '2023-06-01', beta: 'one,two' }],
  [
    'the betas of both spellings, each once',
    { 'partner-beta': 'one,two', 'anthropic-beta': 'two,three' },
    { version: '2023-06-01', beta: 'one,two,three' },
  ],
];

/** The headers of a relayed request that reach the provider. @see spec "Versioning" */
export function relayHeadersBehaviour(gateway: () => Topology): void {
  describe('the headers of a relayed request', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    describe.each(['/v1/messages', '/v1/messages/count_tokens'] as const)('on %s', (path) => {
      it.each(versions)('are %s, in both spellings, and no other', async (_what, given, { version, beta }) => {
        const body = messagesBodies[path]('gateway/bytes', 'hello');
        const { status } = await relay(gateway(), token, { path, body, headers: { ...strangers, ...given } });
        expect(status).toBe(200);
        const { headers } = lastRequestTo(gateway().simulator, 'bytes-a', path);
        const betas = beta === undefined ? {} : { 'partner-beta': beta, 'anthropic-beta': beta };
        expect(ofTheClient(headers)).toEqual({
          'partner-version': version,
          'anthropic-version': version,
          ...betas,
          'x-api-key': '***',
        });
        expect(JSON.stringify(headers)).not.toMatch(/stranger|0af7651916cd|203\.0\.113\.7/);
      });
    });

    it('on /v1/responses are those that Codex needs, and no other', async () => {
      const headers = { ...strangers, ...codexHeaders, 'partner-version': 'x', 'anthropic-beta': 'x' };
      const body = responsesBody('gpt-bytes', 'hello');
      expect((await relay(gateway(), token, { path: '/v1/responses', body, headers })).status).toBe(200);
      const received = lastRequestTo(gateway().simulator, 'responses-gpt-bytes-a', '/v1/responses').headers;
      expect(ofTheClient(received)).toEqual({ ...codexHeaders, authorization: '***' });
      expect(JSON.stringify(received)).not.toMatch(/stranger|0af7651916cd|203\.0\.113\.7/);
    });
  });
}

/** Headers that every HTTP client sends, to any server. */
const ofAnyRequest: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'user-agent'],
]);

function ofTheClient(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofAnyRequest.has(name)));
}
