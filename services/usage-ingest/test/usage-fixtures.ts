import { randomUUID } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { GatewayDatabase } from '@gateway/database';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { sql } from 'kysely';

/** A completed request of 10 input and 5 output tokens, unless said otherwise. */
export function usageEvent(fields: MessageInitShape<typeof UsageRecordedSchema> = {}): UsageRecorded {
  return create(UsageRecordedSchema, {
    requestId: randomUUID(),
    tokenId: 'token',
    admittedAt: timestampFromMs(Date.parse('2026-11-20T10:00:00Z')),
    localDay: '2026-11-20',
    endpoint: '/v1/responses',
    provider: 'provider_a',
    model: 'gpt-5.5',
    inputTokens: 10n,
    cachedTokens: 4n,
    outputTokens: 5n,
    outcome: Outcome.COMPLETED,
    ...fields,
  });
}

export interface Totals {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
}

/** What the ledger holds, counted from the events themselves and from the daily sums: the two must be equal. */
export async function ledgerTotals(database: GatewayDatabase) {
  const events = await sql<Totals>`
    select count(*) as requests,
           cast(coalesce(sum(input_tokens), 0) as bigint) as input,
           cast(coalesce(sum(output_tokens), 0) as bigint) as output
    from usage_events`.execute(database);
  const daily = await sql<Totals>`
    select cast(coalesce(sum(requests), 0) as bigint) as requests,
           cast(coalesce(sum(input_tokens), 0) as bigint) as input,
           cast(coalesce(sum(output_tokens), 0) as bigint) as output
    from usage_daily`.execute(database);
  return { events: events.rows[0], daily: daily.rows[0] };
}

/** What the ledger must hold after events arrived, in whatever order and however often. */
export function expectedTotals(events: readonly UsageRecorded[]): { readonly events: Totals; readonly daily: Totals } {
  const unique = [...new Map(events.toReversed().map((event) => [event.requestId, event])).values()];
  const totals: Totals = {
    requests: unique.length,
    input: unique.reduce((sum, { inputTokens }) => sum + Number(inputTokens), 0),
    output: unique.reduce((sum, { outputTokens }) => sum + Number(outputTokens), 0),
  };
  return { events: totals, daily: totals };
}
