import { randomUUID } from 'node:crypto';
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type RecordedAttempt,
  RecordedAttemptSchema,
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { sql } from 'kysely';

type Fields<S extends DescMessage> = Exclude<MessageInitShape<S>, { readonly $typeName: string }>;

/** What is known of a request, of its attempt and of what this used. */
export type UsedRequest = Omit<Fields<typeof RequestRecordedSchema>, 'attempts'> &
  Omit<Fields<typeof RecordedAttemptSchema>, 'usage'> &
  Fields<typeof UsageSchema>;

/** A completed request with one attempt of 10 input and 5 output tokens by default. */
export function usedRequest(fields: UsedRequest = {}): RequestRecorded {
  const known = { ...defaults, requestId: randomUUID(), ...fields };
  const fieldsOf = (schema: DescMessage) =>
    Object.fromEntries(Object.entries(known).filter(([name]) => schema.field[name] !== undefined));
  const attempt = { ...fieldsOf(RecordedAttemptSchema), usage: fieldsOf(UsageSchema) };
  return create(RequestRecordedSchema, { ...fieldsOf(RequestRecordedSchema), attempts: [attempt] });
}

const defaults: UsedRequest = {
  tokenId: 'token',
  admittedAtMs: Date.parse('2026-11-20T10:00:00Z'),
  localDay: '2026-11-20',
  endpoint: '/v1/responses',
  provider: 'provider_a',
  model: 'gpt-5.5',
  inputTokens: 10,
  cachedTokens: 4,
  outputTokens: 5,
  ending: RequestEnding.COMPLETED,
  accountId: 'pool/a',
};

/** A request that gave up these attempts before its own. */
export function afterGivingUp(request: RequestRecorded, ...givenUp: readonly RequestRecorded[]): RequestRecorded {
  return { ...request, attempts: [...givenUp, request].flatMap(({ attempts }) => attempts) };
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

/**
 * What the ledger must contain after requests of one attempt arrived, in any order and any number
 * of times.
 */
export function expectedTotals(requests: readonly RequestRecorded[]) {
  const unique = new Map(requests.toReversed().map(({ requestId, attempts }) => [requestId, attempts]));
  const attempts = [...unique.values()].flat();
  const known = attempts.filter(({ accountId }) => accountId !== '');
  const accounts = [...Map.groupBy(known, ({ accountId }) => accountId)];
  const byAccount = Object.fromEntries(accounts.map(([account, ofAccount]) => [account, totalsOf(ofAccount)]));
  return { events: totalsOf(attempts), daily: totalsOf(attempts), byAccount };
}

function totalsOf(attempts: readonly RecordedAttempt[]): Totals {
  return {
    requests: attempts.length,
    input: attempts.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0),
    output: attempts.reduce((sum, { usage }) => sum + (usage?.outputTokens ?? 0), 0),
  };
}
