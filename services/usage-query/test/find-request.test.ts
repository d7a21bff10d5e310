import { eventDaysOf } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';
import { loggedRequest, requestIdAt, storeLogs } from './request-log-fixtures.ts';

/** Just before midnight in Amsterdam: the request was admitted on the next day. */
const madeAtMs = Date.parse('2026-11-20T22:59:59.990Z');
const requestId = requestIdAt(madeAtMs, 1);

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
      .values([
        { ...row, local_day: '2026-11-21' },
        ...[10, 2].map((n) => ({
          ...{ ...row, local_day: '2026-11-21', request_id: `${requestId}/${n}` },
          ...{ outcome: 'given_up' as const, model: `model-${n}`, cost_micros: n, parts: '[{"speed":"fast"}]' },
        })),
      ])
      .execute();
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    const service = createUsageQueryService({ waitMs: 0 }, { database: opened.database }, runtime);
    const client = directClientOf(service.routes, UsageReportService);

    const { request, inLedger, loggedAtMs } = await client.findRequest({ requestId });
    expect({ inLedger, loggedAtMs }).toEqual({ inLedger: true, loggedAtMs: undefined });
    expect(request).toMatchObject({
      requestId,
      tokenId: 'a',
      localDay: '2026-11-21',
      endpoint: '/v1/messages',
      ending: RequestEnding.ABORTED,
      attempts: [
        { model: 'model-2', costMicros: 2, usage: { parts: [{ speed: 'fast' }] } },
        { model: 'model-10', costMicros: 10 },
        {
          provider: 'provider_b',
          model: 'claude-opus-4-8',
          accountId: 'messages/team-a',
          usage: { inputTokens: 10, reasoningTokens: 1, estimated: true, parts: [] },
        },
      ],
    });
    expect(request?.receivedAtMs).toBeUndefined();
    const log = loggedRequest(madeAtMs, {}, 1);
    await storeLogs(opened.database, [log]);
    expect(await client.findRequest({ requestId })).toMatchObject({ request: log, inLedger: true });
    expect((await client.findRequest({ requestId: requestIdAt(madeAtMs, 2) })).request).toBeUndefined();
    await expect(client.findRequest({ requestId: 'chatcmpl-1' })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
