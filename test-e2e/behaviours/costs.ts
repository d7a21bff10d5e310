import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { addLocalDays, localDayOf } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { callAdmin } from '../client/admin-call.ts';
import { chat } from '../client/chat.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { loggedRequestsOf } from '../client/request-log.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/** The cost of requests, as the ledger keeps it. The prices are in the suite's gateway.yaml. */
export function costsBehaviour(gateway: () => Topology): void {
  describe('costs', () => {
    it.each([
      ['a message', messagesUsage, messages, 15_384],
      ['a streamed message', messagesUsage, streamed(messages), 15_384],
      ['a message of an older API', olderUsage, messages, 15_159],
      ['a chat answer of the Messages format', messagesUsage, messagesChat, 15_384],
      ['a streamed chat answer of the Messages format', messagesUsage, streamed(messagesChat), 15_384],
      ['a message with a compaction', compactedUsage, messages, 607_884],
      ['a streamed message with a compaction', compactedUsage, streamed(messages), 607_884],
      ['a streamed chat answer with a compaction', compactedUsage, streamed(messagesChat), 607_884],
      ['a message with a search', searchedUsage, messages, 35_384],
      ['a response', responsesUsage, responses, 3_348],
      ['a streamed chat answer of the Responses format', responsesUsage, streamed(responsesChat), 3_348],
    ] as const)('of %s are what the price page says, to the millionth', async (_what, usage, ask, micros) => {
      const token = await issueToken(gateway());
      const account = usage === responsesUsage ? 'responses-gpt-counting-a' : 'counting-a';
      const fault = { kind: 'usage', members: usage, atStart: usage } as const;
      gateway().simulator.faults.add({ account, times: 1, fault });
      const answer = await ask(gateway(), token.text);
      expect(answer.status).toBe(200);
      await expect.poll(() => costOf(token.tokenId)).toMatchObject({ micros });
      expect(await costOf(token.tokenId)).not.toHaveProperty('computedAfterwardsMicros');
      const [logged] = await loggedRequestsOf(gateway(), token.tokenId);
      expect(logged?.attempts).toMatchObject([{ costMicros: micros, usage: writesOf(usage) }]);
    });

    it.each([
      ['a message', messages],
      ['a streamed chat answer', streamed(messagesChat)],
    ])(
      'of %s that was served at a speed without a price are unpriced, not those of the usual speed',
      async (_what, ask) => {
        const token = await issueToken(gateway());
        const fault = { kind: 'usage', members: { ...messagesUsage, speed: 'fast' }, atStart: messagesUsage } as const;
        gateway().simulator.faults.add({ account: 'counting-a', times: 1, fault });
        expect((await ask(gateway(), token.text)).status).toBe(200);
        const unpriced = { unpricedTokens: 2_048 + 1_800 + 248 + 503 };
        await expect.poll(() => costOf(token.tokenId)).toMatchObject(unpriced);
        expect(await costOf(token.tokenId)).toEqual(unpriced);
      },
    );

    /** The cost of all that a token used, as a report has it. */
    const costOf = async (tokenId: string): Promise<unknown> => {
      const lastDay = localDayOf(Date.now());
      const days = { firstDay: addLocalDays(lastDay, -1), lastDay };
      const report = { ...days, grouping: 'USAGE_GROUPING_TOKEN', tokenId };
      const { adminUrl, adminToken } = gateway();
      const { body } = await callAdmin(adminUrl, UsageService.method.reportUsage, report, adminToken);
      return JSON.parse(body).rows?.[0]?.cost;
    };
  });
}

/** As a Messages answer reports cache writes of both lifetimes. */
const messagesUsage = {
  input_tokens: 2_048,
  cache_read_input_tokens: 1_800,
  cache_creation_input_tokens: 248,
  cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
  output_tokens: 503,
};
/** Before there were caches of an hour. */
const olderUsage = { ...messagesUsage, cache_creation: null };
/** The counts at the top leave the compaction out. */
const compactedUsage = {
  ...messagesUsage,
  iterations: [
    { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
    { ...messagesUsage, type: 'message', iterations: undefined },
  ],
};
const searchedUsage = { ...messagesUsage, server_tool_use: { web_search_requests: 2 } };
const responsesUsage = {
  input_tokens: 2_006,
  input_tokens_details: { cached_tokens: 1_920 },
  output_tokens: 300,
  output_tokens_details: { reasoning_tokens: 0 },
};

function writesOf(usage: object): object {
  if (usage === responsesUsage) return {};
  return usage === olderUsage ? { cacheWrite5mTokens: 248 } : { cacheWrite5mTokens: 148, cacheWrite1hTokens: 100 };
}

type Ask = (gateway: Topology, token: string, more?: Readonly<Record<string, unknown>>) => Promise<{ status: number }>;

const messages: Ask = (gateway, token, more) =>
  relay(gateway, token, { path: '/v1/messages', body: messagesBody('gateway/counting', 'Hello there', more) });
const responses: Ask = (gateway, token, more) =>
  relay(gateway, token, { path: '/v1/responses', body: responsesBody('gpt-counting', 'Hello there', more) });
const messagesChat: Ask = (gateway, token, more) => chat(gateway, token, { model: 'gateway/counting', ...more });
const responsesChat: Ask = (gateway, token, more) => chat(gateway, token, { model: 'gpt-counting', ...more });

function streamed(ask: Ask): Ask {
  return (gateway, token) => ask(gateway, token, { stream: true });
}
