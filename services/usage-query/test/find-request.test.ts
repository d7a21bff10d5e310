import { eventDaysOf } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';

/** Just before midnight in Amsterdam: the request was admitted on the next day. */
const madeAtMs = Date.parse('2026-11-20T22:59:59.990Z');
const requestId = idMadeAt(madeAtMs, 1);

describe.each(testDatabases)('a request in the ledger of $name', ({ open }) => {
  it('is found by its id alone, on its day or one beside it', async () => {
    await using opened = await open();
    const row = {
      request_id: requestId,
      token_id: 'a',
      admitted_at_ms: madeAtMs,
      endpoint: '/v1/messages',
      provider: 'provider_b',
      model: 'claude-opus-4-8',
      input_tokens: 10,
      cached_tokens: 4,
      output_tokens: 5,
      reasoning_tokens: 1,
      estimated: 1,
      outcome: 'aborted',
      account_id: 'messages/team-a',
    } as const;
    await eventDaysOf(opened.database).open(['2026-11-21']);
    await opened.database
      .insertInto('usage_events')
      .values({ ...row, local_day: '2026-11-21' })
      .execute();
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    const service = createUsageQueryService({ waitMs: 0 }, { database: opened.database }, runtime);
    const client = directClientOf(service.routes, UsageReportService);

    const usage = { inputTokens: 10, cachedTokens: 4, outputTokens: 5, reasoningTokens: 1, estimated: true };
    const attempt = { provider: 'provider_b', model: 'claude-opus-4-8', accountId: 'messages/team-a', usage };
    const found = { requestId, tokenId: 'a', ending: RequestEnding.ABORTED, attempts: [attempt] };
    expect(await client.findRequest({ requestId })).toMatchObject({ request: found, inLedger: true });
    expect((await client.findRequest({ requestId: idMadeAt(madeAtMs, 2) })).request).toBeUndefined();
    await expect(client.findRequest({ requestId: 'chatcmpl-1' })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

/** @see RFC 9562, UUID version 7 */
function idMadeAt(ms: number, which: number): string {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${String(which).padStart(12, '0')}`;
}
