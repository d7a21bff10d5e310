import { randomUUID } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { sql } from 'kysely';

/** A completed request of 10 input and 5 output tokens by default. */
export function usageEvent(fields: MessageInitShape<typeof UsageRecordedSchema> = {}): UsageRecorded {
  return create(UsageRecordedSchema, {
    requestId: randomUUID(),
    tokenId: 'token',
    admittedAtMs: Date.parse('2026-11-20T10:00:00Z'),
    localDay: '2026-11-20',
    endpoint: '/v1/responses',
    provider: 'provider_a',
    model: 'gpt-5.5',
    inputTokens: 10,
    cachedTokens: 4,
    outputTokens: 5,
    outcome: LedgerOutcome.COMPLETED,
    accountId: 'pool/a',
    ...fields,
  });
}

export interface Totals {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
}

/**
 * The content of the ledger, counted from the events and from the daily sums, in total and per
 * account: all must be equal.
 */
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
  const byAccount = await database
    .selectFrom('usage_daily')
    .where('account_id', '<>', '')
    .select([
      'account_id',
      sql<number>`cast(sum(requests) as bigint)`.as('requests'),
      sql<number>`cast(sum(input_tokens) as bigint)`.as('input'),
      sql<number>`cast(sum(output_tokens) as bigint)`.as('output'),
    ])
    .groupBy('account_id')
    .execute();
  const accounts = byAccount.map(({ account_id, ...totals }) => [account_id, totals] as const);
  return { events: events.rows[0], daily: daily.rows[0], byAccount: Object.fromEntries(accounts) };
}

/** What the ledger must contain after events arrived, in any order and any number of times. */
export function expectedTotals(events: readonly UsageRecorded[]) {
  const unique = [...new Map(events.toReversed().map((event) => [event.requestId, event])).values()];
  const known = unique.filter(({ accountId }) => accountId !== '');
  const accounts = [...Map.groupBy(known, ({ accountId }) => accountId)];
  const byAccount = Object.fromEntries(accounts.map(([account, ofAccount]) => [account, totalsOf(ofAccount)]));
  return { events: totalsOf(unique), daily: totalsOf(unique), byAccount };
}

function totalsOf(events: readonly UsageRecorded[]): Totals {
  return {
    requests: events.length,
    input: events.reduce((sum, { inputTokens }) => sum + Number(inputTokens), 0),
    output: events.reduce((sum, { outputTokens }) => sum + Number(outputTokens), 0),
  };
}
