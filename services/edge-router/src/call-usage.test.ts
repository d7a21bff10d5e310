import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Settlement } from '@gateway/limits';
import { PriceBook } from '@gateway/prices';
import { type Usage, UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type Token, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AttemptReportSchema, AttemptResult, type Lease, LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { AcquireResponseSchema, PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { RequestEnding, type RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it } from 'vitest';
import { admission, admitCall, newCall } from './__fixtures__/test-call.ts';
import { admit } from './admission/admit.ts';
import type { Call, CallPeers } from './call.ts';
import type { CallUsage } from './call-usage.ts';
import type { OutboxRow } from './usage/outbox.ts';

const lease = create(LeaseSchema, { provider: 'provider_a', model: 'gpt-5.5', accountId: 'responses/team-a' });
const usage = (inputTokens: number, outputTokens: number, estimated = false) =>
  create(UsageSchema, { inputTokens, outputTokens, estimated });

function setUp(
  limits: { requestsPerMinute: number; tokensPerDay?: number } = { requestsPerMinute: 1, tokensPerDay: 100 },
  prices = new PriceBook(),
) {
  const lines: string[] = [];
  const finals: ReturnType<typeof rowsOf>[number][] = [];
  const charges: Settlement[] = [];
  const opened: (number | undefined)[] = [];
  const lineOf = ({ record }: OutboxRow) =>
    `${RequestEnding[record.ending]} ${record.attempts.at(-1)?.usage?.outputTokens ?? 'none'}`;
  const peers = {
    pricing: { prices, neighboursOf: () => ['gpt-5.5', 'claude-sonnet-4-5'] },
    outbox: {
      open: (row: OutboxRow) => {
        lines.push(`open ${lineOf(row)}`);
        opened.push(row.record.attempts.at(-1)?.costMicros);
      },
      close: ({ record }: OutboxRow) => void lines.push(`close ${record.requestId}`),
      log: () => undefined,
      finish: async (row: OutboxRow, charged?: Promise<void>) => {
        await charged;
        lines.push(`final ${lineOf(row)}`);
        finals.push(...rowsOf(row.record));
      },
    },
    limiter: {
      settle: async (charge: Settlement) => {
        await new Promise((resolve) => setImmediate(resolve));
        lines.push(`charged ${charge.tokens}`);
        charges.push(charge);
      },
    },
  } satisfies Partial<CallPeers>;
  const token = create(TokenSchema, { tokenId: 't1', label: 'ci', limits, groupId: 'g1' });
  return { call: usageOf(token, 401, peers), peers, opened, lines, finals, charges };
}

/** What the ledger makes of a record. */
function rowsOf({ requestId, tokenId, groupId, localDay, ending, attempts }: RequestRecorded) {
  return attempts.flatMap(({ usage: counts, provider, model, accountId, costMicros }, n) => {
    if (counts === undefined) return [];
    const isLast = n === attempts.length - 1;
    const outcome: RequestEnding | 'given up' = isLast ? ending : 'given up';
    const key = { requestId: isLast ? requestId : `${requestId}/${n + 1}`, outcome };
    return [{ ...counts, ...key, tokenId, groupId, localDay, provider, model, accountId, costMicros }];
  });
}

/** A request whose body is read. */
function usageOf(token: Token, bodyBytes: number, peers: Partial<CallPeers>, of = admission): UsedRequest {
  const call = newCall({ id: 'r1', peers });
  call.onAuthenticated(token);
  admitCall(call, of);
  call.onBodyRead('m', false, bodyBytes);
  return new UsedRequest(call);
}

class UsedRequest {
  readonly usage: CallUsage;
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
    this.usage = call.usage ?? expect.fail('usage arises');
  }

  lease(value: Lease): void {
    this.#call.onAcquired(create(AcquireResponseSchema, { result: { case: 'lease', value } }));
    this.#call.onLease({ [Symbol.dispose]: () => undefined });
  }

  /** An answer ends as a whole. */
  complete(last?: Usage): Promise<void> {
    this.#call.onAttemptEnded(create(AttemptReportSchema, { result: AttemptResult.SUCCEEDED }));
    return this.#call.end({ status: 200, clientLeft: false, hasBegun: true, usage: last });
  }

  /** The client leaves. */
  leave(): Promise<void> {
    return this.#call.end({ status: 499, clientLeft: true });
  }

  /** No attempt gave an answer. */
  refuse(): Promise<void> {
    return this.#call.end({ status: 503, errorCode: 'providers_unavailable', clientLeft: false });
  }
}

describe('the usage of a request', () => {
  it('records the last report once, and charges input plus output to the day of the admission', async () => {
    const { call, finals, charges } = setUp();
    call.lease(lease);
    call.usage.onUsage(usage(10, 1, true));
    call.usage.onUsage(usage(12, 30));
    await Promise.all([call.complete(), call.leave()]);
    expect(finals).toHaveLength(1);
    expect(finals[0]).toMatchObject({
      requestId: 'r1',
      tokenId: 't1',
      localDay: '2026-11-20',
      provider: 'provider_a',
      model: 'gpt-5.5',
      accountId: 'responses/team-a',
      inputTokens: 12,
      outputTokens: 30,
      estimated: false,
      outcome: RequestEnding.COMPLETED,
    });
    expect(charges).toEqual([{ key: 'token:t1', requestId: 'r1', localDay: '2026-11-20', tokens: 42 }]);
  });

  it('charges before the event may leave', async () => {
    const { call, lines } = setUp();
    call.lease(lease);
    await call.complete(usage(12, 30));
    expect(lines).toEqual(['open UNSPECIFIED 0', 'charged 42', 'final COMPLETED 30']);
  });

  it('charges nothing to a token without a day budget', async () => {
    const { call, finals, charges } = setUp({ requestsPerMinute: 5 });
    call.lease(lease);
    call.usage.onUsage(usage(1, 1));
    await call.complete();
    expect(finals).toHaveLength(1);
    expect(charges).toEqual([]);
  });

  it('records nothing when no provider was sent the request', async () => {
    const { call, lines, finals } = setUp();
    call.lease(lease);
    await call.leave();
    expect(finals).toEqual([]);
    expect(lines).toEqual(['open UNSPECIFIED 0', 'close r1']);
  });

  it('records the input of a request that was sent and not answered, once and to the day as well', async () => {
    const { call, lines, finals, charges } = setUp();
    call.lease(lease);
    call.usage.onSent(usage(90, 0, true));
    await Promise.all([call.leave(), call.leave()]);
    expect(finals).toHaveLength(1);
    expect(finals[0]).toMatchObject({
      inputTokens: 90,
      outputTokens: 0,
      estimated: true,
      outcome: RequestEnding.ABORTED,
    });
    expect(charges).toEqual([{ key: 'token:t1', requestId: 'r1', localDay: '2026-11-20', tokens: 90 }]);
    expect(lines).toEqual(['open UNSPECIFIED 0', 'charged 90', 'final ABORTED 0']);
  });

  it('records nothing of a request that its provider refused, also when the client leaves before the next attempt', async () => {
    const { call, finals } = setUp();
    call.lease(lease);
    call.usage.onSent(usage(90, 0, true));
    call.usage.onAttemptFailed();
    await call.leave();
    expect(finals).toEqual([]);
    const other = setUp();
    other.call.lease(lease);
    other.call.usage.onSent(usage(90, 0, true));
    other.call.lease(lease);
    await other.call.leave();
    expect(other.finals).toEqual([]);
  });

  it('forgets what an attempt reported when the next one begins, and discards what led to no answer', async () => {
    const { call, finals } = setUp();
    call.lease(lease);
    call.usage.onUsage(usage(10, 0, true));
    call.lease(lease);
    await call.leave();
    expect(finals).toEqual([]);
    const other = setUp();
    other.call.lease(lease);
    other.call.usage.onUsage(usage(10, 0, true));
    await other.call.refuse();
    await other.call.complete();
    expect(other.finals).toEqual([]);
  });

  describe('of attempts that were given up after their model had produced something', () => {
    const give = (call: UsedRequest, accountId: string, outputTokens: number) => {
      call.lease(create(LeaseSchema, { provider: 'provider_a', model: `model-${accountId}`, accountId }));
      call.usage.onSent(usage(90, 0, true));
      call.usage.onUsage(usage(90, outputTokens, true));
      call.usage.onProduced();
      call.usage.onAttemptFailed();
    };

    it('records each beside the answer, of its own account and model, and charges both to the day', async () => {
      const { call, finals, charges, lines } = setUp();
      give(call, 'a', 20);
      call.lease(lease);
      await call.complete(usage(12, 30));
      const givenUp = finals.find(({ requestId }) => requestId === 'r1/1');
      const answered = finals.find(({ requestId }) => requestId === 'r1');
      expect(givenUp).toMatchObject({
        requestId: 'r1/1',
        accountId: 'a',
        model: 'model-a',
        outcome: 'given up',
      });
      expect(givenUp).toMatchObject({ inputTokens: 90, outputTokens: 20, estimated: true, localDay: '2026-11-20' });
      expect(answered).toMatchObject({
        requestId: 'r1',
        model: 'gpt-5.5',
        outcome: RequestEnding.COMPLETED,
        estimated: false,
      });
      expect(answered).toMatchObject({ inputTokens: 12, outputTokens: 30 });
      expect(charges.map(({ requestId, tokens }) => `${requestId} ${tokens}`).toSorted()).toEqual([
        'r1 42',
        'r1/1 110',
      ]);
      const opened = ['open UNSPECIFIED 0', 'open FAILED 20', 'open UNSPECIFIED 0'];
      expect(lines).toEqual([...opened, 'charged 110', 'charged 42', 'final COMPLETED 30']);
    });

    it('records the last as the request, which failed, when there is no answer', async () => {
      const { call, finals } = setUp();
      for (const account of ['a', 'b', 'c']) give(call, account, 20);
      await call.refuse();
      const recorded = finals.map(
        ({ requestId, accountId, outcome }) =>
          `${requestId} ${accountId} ${typeof outcome === 'string' ? outcome : RequestEnding[outcome]}`,
      );
      expect(recorded.toSorted()).toEqual(['r1 c FAILED', 'r1/1 a given up', 'r1/2 b given up']);
    });

    it('records them when the last attempt was refused, and when the client has left', async () => {
      const refused = setUp();
      give(refused.call, 'a', 20);
      refused.call.lease(lease);
      refused.call.usage.onSent(usage(90, 0, true));
      refused.call.usage.onAttemptFailed();
      await refused.call.refuse();
      expect(refused.finals).toMatchObject([{ requestId: 'r1/1', outcome: 'given up' }]);
      const left = setUp();
      give(left.call, 'a', 20);
      await left.call.leave();
      expect(left.finals).toMatchObject([{ requestId: 'r1', outcome: RequestEnding.ABORTED, outputTokens: 20 }]);
    });
  });

  it('notes in the outbox that a provider answers, and again at every thousand tokens', () => {
    const { call, lines } = setUp();
    call.lease(lease);
    for (const output of [0, 10, 999, 1_000, 1_999, 2_500]) call.usage.onUsage(usage(5, output));
    expect(lines).toEqual(['open UNSPECIFIED 0', 'open FAILED 0', 'open FAILED 1000', 'open FAILED 2500']);
  });

  it('does not open a request again that has ended', async () => {
    const { call, lines, finals } = setUp();
    call.lease(lease);
    await call.leave();
    call.usage.onUsage(usage(5, 2_000));
    call.lease(lease);
    expect(lines).toEqual(['open UNSPECIFIED 0', 'close r1']);
    expect(finals).toEqual([]);
  });

  describe('at the prices of the admission', () => {
    const million = 1_000_000;
    const bookOf = (inputMicros: number, cacheWrite1hMicros = 0) =>
      new PriceBook(
        create(PriceListSchema, {
          currency: 'EUR',
          prices: [
            { model: 'gpt-5.5', inputMicros, cacheWrite1hMicros, outputMicros: 10 * million },
            { model: 'gpt-5.5', inputMicros: 9 * million, fromDay: '2026-11-21' },
            { model: 'model-a', inputMicros: 2 * million, outputMicros: million },
          ],
        }),
      );

    it('records the cost, by the day of the admission, also after prices have changed', async () => {
      const { call, peers, finals } = setUp(undefined, bookOf(million, 2 * million));
      peers.pricing.prices = bookOf(5 * million);
      call.lease(lease);
      await call.complete(
        create(UsageSchema, { inputTokens: 100, cacheWrite5mTokens: 10, cacheWrite1hTokens: 40, outputTokens: 3 }),
      );
      const counts = { cacheWrite5mTokens: 10, cacheWrite1hTokens: 40, groupId: 'g1' };
      expect(finals).toMatchObject([{ ...counts, costMicros: 50 + 80 + 30 }]);
    });

    it('records the parts of the last report with their costs, and charges what is billed', async () => {
      const budgeted = { requestsPerMinute: 1, tokensPerDay: 1_000_000 };
      const { call, finals, charges } = setUp(budgeted, bookOf(2 * million));
      call.lease(lease);
      const own = { inputTokens: 20, outputTokens: 1 };
      const pass = { kind: 'compaction', inputTokens: 180, outputTokens: 5 };
      const unpriced = { kind: 'advisor_message', model: 'unknown', inputTokens: 7, outputTokens: 2 };
      call.usage.onUsage(create(UsageSchema, { ...own, parts: [own] }));
      const whole = { inputTokens: 207, outputTokens: 8, parts: [own, pass, unpriced] };
      await call.complete(create(UsageSchema, whole));
      expect(finals).toHaveLength(1);
      const [final] = finals;
      expect(final).toMatchObject({ inputTokens: 207, outputTokens: 8 });
      const costs = final?.parts.map(({ kind, costMicros }) => [kind, costMicros]);
      const [ownCost, passCost] = [20 * 2 + 1 * 10, 180 * 2 + 5 * 10];
      expect(costs).toEqual([
        ['', ownCost],
        ['compaction', passCost],
        ['advisor_message', undefined],
      ]);
      expect(final?.costMicros).toBe(ownCost + passCost);
      expect(charges).toMatchObject([{ tokens: 215 }]);
    });

    it('records no cost for what was served otherwise than a price names, and forgets it with the next attempt', async () => {
      const { call, finals } = setUp(undefined, bookOf(2 * million));
      const fast = { inputTokens: 20, outputTokens: 1, speed: 'fast' };
      call.lease(lease);
      call.usage.onUsage(create(UsageSchema, { ...fast, parts: [fast] }));
      call.usage.onProduced();
      call.usage.onAttemptFailed();
      call.lease(lease);
      await call.complete(usage(10, 0));
      expect(finals.map(({ parts, costMicros }) => [parts.length, costMicros]).toSorted()).toEqual([
        [0, 20],
        [1, undefined],
      ]);
    });

    it('changes price at local midnight, also at the ends of a day of 25 hours', async () => {
      const list = ['2026-10-25', '2026-10-26'].map((fromDay, n) => ({
        ...{ model: 'claude-*', fromDay, inputMicros: (n + 3) * million, cachedInputMicros: 300_000 },
        ...{ cacheWrite5mMicros: 3_750_000, cacheWrite1hMicros: 6 * million, outputMicros: 15 * million },
      }));
      const before = { ...list[0], fromDay: '', inputMicros: 2 * million };
      const prices = new PriceBook(create(PriceListSchema, { currency: 'USD', prices: [before, ...list] }));
      const counts = { inputTokens: 4_096, cachedTokens: 1_800, cacheWrite5mTokens: 148, cacheWrite1hTokens: 100 };
      const answer = create(UsageSchema, { ...counts, outputTokens: 503 });
      const costAt = async (instant: string) => {
        using _ = new ManualTime(Date.parse(instant));
        const personal = create(TokenSchema, { tokenId: 'p', kind: TokenKind.PERSONAL });
        const neverAsked = { admit: () => Promise.reject(new Error('a personal token has no limits')) };
        const ofThen = await admit('r', personal, CostKind.REQUEST_AND_TOKENS, {
          limiter: neverAsked,
          pricing: { prices: { currency: 'EUR' } },
        });
        const { peers, finals } = setUp(undefined, prices);
        const call = usageOf(personal, 1, peers, ofThen);
        call.lease(create(LeaseSchema, { provider: 'provider_b', model: 'claude-sonnet-4-5' }));
        await call.complete(answer);
        return finals[0]?.costMicros;
      };
      const rest = 540 + 555 + 600 + 7_545;
      expect(await costAt('2026-10-24T21:59:59.999Z')).toBe(2_048 * 2 + rest);
      expect(await costAt('2026-10-24T22:00:00.000Z')).toBe(2_048 * 3 + rest);
      // Twenty-four hours later it is still that day.
      expect(await costAt('2026-10-25T22:00:00.000Z')).toBe(2_048 * 3 + rest);
      expect(await costAt('2026-10-25T22:59:59.999Z')).toBe(2_048 * 3 + rest);
      expect(await costAt('2026-10-25T23:00:00.000Z')).toBe(2_048 * 4 + rest);
    });

    it('is that of the dearest neighbour for a model without a price, where a budget counts it', async () => {
      const group = { groupId: 'g1', limits: { budget: { amountMicros: 1 } } };
      const costOf = async (token: MessageInitShape<typeof TokenSchema>) => {
        const { peers, finals, charges } = setUp(undefined, bookOf(million));
        const call = usageOf(create(TokenSchema, token), 1, peers);
        call.lease(create(LeaseSchema, { provider: 'provider_a', model: 'without-a-price' }));
        await call.complete(usage(1_000_000, 0));
        return [finals[0]?.costMicros, charges[0]?.costMicros];
      };
      const known = bookOf(million).costOf('gpt-5.5', usage(1_000_000, 0), '2026-11-20');
      expect(known).toBeGreaterThan(0);
      expect(await costOf({ tokenId: 't1', kind: TokenKind.SERVICE, group })).toEqual([known, Number(known)]);
      expect(await costOf({ tokenId: 't1', kind: TokenKind.PERSONAL, group })).toEqual([known, Number(known)]);
      expect(await costOf({ tokenId: 't1', kind: TokenKind.SERVICE })).toEqual([undefined, undefined]);
    });

    it('gives the outbox the cost so far with every note', () => {
      const { call, opened } = setUp(undefined, bookOf(million));
      call.lease(lease);
      for (const output of [0, 10, 1_000]) call.usage.onUsage(usage(5, output));
      // A body of 401 bytes is estimated as 101 tokens.
      expect(opened).toEqual([101, 5, 10_005]);
    });

    it('gives attempts that were given up the cost of their own model, and none to a model without a price', async () => {
      const { call, finals } = setUp(undefined, bookOf(million));
      for (const model of ['model-a', 'unpriced', 'gpt-5.5']) {
        call.lease(create(LeaseSchema, { provider: 'provider_a', model }));
        call.usage.onUsage(usage(90, 20));
        call.usage.onProduced();
      }
      await call.complete();
      const costs = new Map(finals.map(({ model, costMicros }) => [model, costMicros]));
      expect(costs).toEqual(
        new Map([
          ['model-a', 200],
          ['unpriced', undefined],
          ['gpt-5.5', 290],
        ]),
      );
    });
  });
});
