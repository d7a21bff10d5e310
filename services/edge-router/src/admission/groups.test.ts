import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Check, Reservation } from '@gateway/limits';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { TokenKind, TokenSchema, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, CostKind, LimitName, RefusalSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { admit, chargedTerms, heldBy, holdsLeases, isLimited, pricedDayOf } from './admit.ts';
import { Holds } from './holds.ts';
import { possibleUse } from './reservation.ts';
import { TypicalTokens } from './typical-tokens.ts';

const budget = { amountMicros: 1_000, period: BudgetPeriod.MONTH };
const tokenOf = (fields: MessageInitShape<typeof TokenSchema>) =>
  create(TokenSchema, { tokenId: 't', kind: TokenKind.SERVICE, ...fields });
const groupOf = (limits: NonNullable<MessageInitShape<typeof TokenSchema>['group']>['limits']) =>
  limits === undefined ? { groupId: 'g' } : { groupId: 'g', limits };

describe('the admission of a token in a group', () => {
  it('asks for both in one call', async () => {
    const asked: Check[] = [];
    const limiter = {
      admit: async (check: Check) => {
        asked.push(check);
        return {};
      },
    };
    const token = tokenOf({ limits: { requestsPerMinute: 5 }, group: groupOf({ tokensPerDay: 7, budget }) });
    await admit('r', token, CostKind.REQUEST_AND_TOKENS, { limiter, pricing: { prices: { currency: 'EUR' } } });
    expect(asked).toMatchObject([
      {
        key: 'token:t',
        limits: { requestsPerMinute: 5 },
        group: { key: 'group:g', limits: { tokensPerDay: 7, budget } },
      },
    ]);
  });

  it.each([
    [LimitName.GROUP_REQUESTS_PER_MINUTE, 'group_requests_per_minute'],
    [LimitName.GROUP_TOKENS_PER_DAY, 'group_tokens_per_day'],
    [LimitName.BUDGET, 'budget'],
    [LimitName.CONCURRENCY, 'concurrency'],
  ])('names the limit that refused: %s is %s', async (limit, name) => {
    using time = new ManualTime(0);
    const refusal = create(RefusalSchema, { limit, retryAfterMs: 5_000 });
    const limiter = { admit: async () => ({ refusal }) };
    const token = tokenOf({ group: groupOf({ requestsPerMinute: 1 }) });
    const admission = await admit('r', token, CostKind.REQUEST_AND_TOKENS, {
      limiter,
      pricing: { prices: { currency: 'EUR' } },
    });
    const waits = { retryAfterMs: 5_000, retryAtMs: time.nowMs + 5_000 };
    expect(admission.refusal).toMatchObject({ code: 'rate_limit_exceeded', limit: name, ...waits });
  });

  it('says what is spent and reserved of a budget that refused', async () => {
    const reached = { amountMicros: 1_000_000, spentMicros: 400_000, reservedMicros: 700_000 };
    const refusal = create(RefusalSchema, { limit: LimitName.BUDGET, budget: reached });
    const limiter = { admit: async () => ({ refusal }) };
    const asked = { limiter, pricing: { prices: { currency: 'EUR' } } };
    const admission = await admit('r', tokenOf({ group: groupOf({ budget }) }), CostKind.REQUEST_AND_TOKENS, asked);
    expect(admission.refusal?.message).toBe(
      "The budget of the token's group has no room for this request. " +
        '0.40 EUR of 1.00 EUR is spent, and running requests have reserved 0.70 EUR.',
    );
  });

  it('asks nothing for a personal token, and nothing for a group without limits', () => {
    expect(isLimited(tokenOf({ kind: TokenKind.PERSONAL, group: groupOf({ budget }) }))).toBe(false);
    expect(isLimited(tokenOf({ group: groupOf({}) }))).toBe(false);
    expect(isLimited(tokenOf({ group: groupOf({ concurrentRequests: 1 }) }))).toBe(true);
  });
});

describe('what the end of a request is charged to', () => {
  it('is only the day of a token without a group, as ever', () => {
    expect(chargedTerms(tokenOf({ limits: { tokensPerDay: 5 } }))).toEqual({ key: 'token:t' });
    expect(chargedTerms(tokenOf({ limits: { requestsPerMinute: 5 }, group: groupOf({}) }))).toBeUndefined();
  });

  it('is the group as well, if that counts tokens or money', () => {
    const token = tokenOf({ limits: { tokensPerDay: 5 }, group: groupOf({ budget }) });
    expect(chargedTerms(token)).toMatchObject({
      key: 'token:t',
      limits: { tokensPerDay: 5 },
      group: { key: 'group:g' },
    });
  });

  it('names the group wherever its token counts tokens, because both keep them together', () => {
    const ofGroups = [{}, { requestsPerMinute: 5 }, { tokensPerDay: 5 }, { concurrentRequests: 5 }, { budget }];
    for (const ofGroup of ofGroups)
      expect(chargedTerms(tokenOf({ limits: { tokensPerDay: 5 }, group: groupOf(ofGroup) }))).toMatchObject({
        key: 'token:t',
        limits: { tokensPerDay: 5 },
        group: { key: 'group:g' },
      });
  });

  it('is only the group of a personal token', () => {
    const personal = { kind: TokenKind.PERSONAL };
    expect(chargedTerms(tokenOf({ ...personal, group: groupOf({ tokensPerDay: 1 }) }))).toMatchObject({
      limits: {},
      group: { key: 'group:g' },
    });
    expect(chargedTerms(tokenOf({ ...personal, group: groupOf({ requestsPerMinute: 1 }) }))).toBeUndefined();
    expect(chargedTerms(tokenOf(personal))).toBeUndefined();
  });
});

const today = { localDay: '2026-11-20' };

describe('leases of running requests', () => {
  it('are taken where the token or its group has a bound, and money counts as well', () => {
    const both = tokenOf({ limits: { concurrentRequests: 1 }, group: groupOf({ concurrentRequests: 2 }) });
    expect(heldBy('r', both, today)).toMatchObject({
      key: 'token:t',
      group: { key: 'group:g' },
      localDay: '2026-11-20',
    });
    const strict = { tokensPerDay: 5, strictTokens: true };
    for (const holding of [{ group: groupOf({ budget }) }, { limits: strict }, { group: groupOf(strict) }])
      expect(holdsLeases(tokenOf(holding))).toBe(true);
    for (const limits of [{ requestsPerMinute: 1 }, { tokensPerDay: 5 }, { strictTokens: true }])
      expect(holdsLeases(tokenOf({ limits }))).toBe(false);
    expect(holdsLeases(tokenOf({ kind: TokenKind.PERSONAL, group: groupOf({ concurrentRequests: 1 }) }))).toBe(false);
  });

  it('are renewed every five seconds until they are returned', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const kept: string[][] = [];
    const renew = async (running: readonly Reservation[]) => void kept.push(running.map(({ requestId }) => requestId));
    using running = new Holds({ renew });
    const token = tokenOf({ limits: { concurrentRequests: 2 } });
    const [a, b] = [heldBy('a', token, today), heldBy('b', token, today)];
    running.add(a).add(b);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([running.delete(a), running.delete(a)]).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(5_000);
    running.delete(b);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(kept).toEqual([['a', 'b'], ['b']]);
  });
});

describe('what a request can cost', () => {
  const priceOf: Readonly<Record<string, number>> = { small: 1, large: 10 };
  const pricing = {
    neighboursOf: () => ['small', 'large'],
    candidatesOf: (model: string) => (model === 'gateway/class' ? ['small', 'large', 'free'] : [model]),
    prices: {
      contextOf: () => 50_000,
      costOf: (model: string, tokens: { inputTokens: number; outputTokens: number }) => {
        const price = priceOf[model];
        return price === undefined ? undefined : (tokens.inputTokens + tokens.outputTokens) * price;
      },
      costAnyway: (model: string, others: readonly string[], tokens: { inputTokens: number }) =>
        tokens.inputTokens * (priceOf[model] ?? 1_000 * others.length),
    },
  };
  const bodyOf = (bytes: number, fields: Readonly<Record<string, unknown>> = {}) => ({
    source: { length: bytes, text: (start: number) => JSON.stringify(Object.values(fields)[start]) },
    value: (name: string) => fields[name],
    namedMembers: Object.keys(fields).map((key, valueStart) => ({ key, valueStart, valueEnd: valueStart })),
  });
  const outputsOf = (
    models: readonly { model: string; outputTokens: number; inputTokens?: number }[] = [],
    most = 32_000,
  ) => {
    const outputs = new TypicalTokens({ getTypicalOutput: async () => ({ models }) } as never, most);
    onTestFinished(() => outputs[Symbol.dispose]());
    return outputs;
  };
  const cost = (
    body: ReturnType<typeof bodyOf>,
    model: string,
    outputs = outputsOf(),
    dialect: Dialect = Dialect.MESSAGES,
    refusesUnpriced = true,
  ) => possibleUse({ body, dialect, model, ...today, refusesUnpriced } as never, pricing as never, outputs).costMicros;

  it('is so many tokens, of the model that may use most', () => {
    const outputs = outputsOf([{ model: 'small', outputTokens: 900 }]);
    const asked = {
      body: bodyOf(401),
      dialect: Dialect.MESSAGES,
      model: 'gateway/class',
      ...today,
      refusesUnpriced: true,
    };
    expect(possibleUse(asked as never, pricing as never, outputs).tokens).toBe(101 + 4_096);
  });

  it('counts a model without a price as its dearest neighbour, unless that is refused', () => {
    const anyway = (model: string) => cost(bodyOf(4), model, outputsOf(), Dialect.MESSAGES, false);
    expect([anyway('free'), anyway('gateway/class')]).toEqual([2_000, 2_000]);
    expect(cost(bodyOf(4), 'free')).toBe(0);
  });

  it('needs a price of the day of admission where a budget refuses what has none', () => {
    const dayOf = (group: ReturnType<typeof groupOf> & { unpricedModels?: UnpricedModels }, kind = TokenKind.SERVICE) =>
      ['', 'EUR'].map((currency) =>
        pricedDayOf({ token: tokenOf({ group, kind }), admission: { localDay: '2026-11-20' } } as never, {
          prices: { isEmpty: currency === '' } as never,
        }),
      );
    const day = '2026-11-20';
    expect(dayOf(groupOf({ budget }))).toEqual([day, day]);
    expect(dayOf({ ...groupOf({ budget }), unpricedModels: UnpricedModels.REFUSE })).toEqual([day, day]);
    expect(dayOf({ ...groupOf({ budget }), unpricedModels: UnpricedModels.DEAREST })).toEqual([day, '']);
    expect(dayOf(groupOf({ requestsPerMinute: 1 }))).toEqual(['', '']);
    expect(dayOf(groupOf({ budget }), TokenKind.PERSONAL)).toEqual(['', '']);
  });

  it('is its input and as much output as it asks for, at the dearest model that may answer', () => {
    expect(cost(bodyOf(401, { max_tokens: 100 }), 'small')).toBe(101 + 100);
    expect(cost(bodyOf(401, { max_completion_tokens: 100, max_tokens: 50 }), 'gateway/class')).toBe((101 + 100) * 10);
    expect(cost(bodyOf(4, { max_output_tokens: 100 }), 'free')).toBe(0);
  });

  it('has the usual output where a provider may not obey the bound of the request', () => {
    const small = bodyOf(4, { max_tokens: 1 });
    const large = bodyOf(4, { max_tokens: 10_000 });
    expect(cost(small, 'small', outputsOf(), Dialect.RESPONSES)).toBe(1 + 4_096);
    expect(cost(large, 'small', outputsOf(), Dialect.RESPONSES)).toBe(1 + 4_096);
    expect(cost(small, 'small', outputsOf(), Dialect.CHAT_COMPLETIONS)).toBe(1 + 4_096);
    expect(cost(large, 'small', outputsOf(), Dialect.CHAT_COMPLETIONS)).toBe(1 + 10_000);
  });

  it('is the usual input where the provider may fetch content, and the whole context until it is known', async () => {
    const outputs = outputsOf([{ model: 'small', outputTokens: 900, inputTokens: 7_000 }]);
    const fetching = bodyOf(400, { max_tokens: 10, previous_response_id: 'r1' });
    expect(cost(fetching, 'small', outputs)).toBe(50_000 + 10);
    await outputs.refresh();
    expect(cost(fetching, 'small', outputs)).toBe(7_000 + 10);
    expect(cost(bodyOf(40_000, { max_tokens: 10, mcp_servers: ['s'] }), 'small', outputs)).toBe(10_000 + 10);
    expect(cost(bodyOf(400, { max_tokens: 10 }), 'small', outputs)).toBe(100 + 10);
    expect(cost(fetching, 'large', outputs)).toBe((50_000 + 10) * 10);
  });

  it('has 4,096 tokens of output until the ledger knows what the model usually writes', async () => {
    const outputs = outputsOf([{ model: 'small', outputTokens: 900 }]);
    expect(cost(bodyOf(4), 'small', outputs)).toBe(1 + 4_096);
    await outputs.refresh();
    expect(cost(bodyOf(4), 'small', outputs)).toBe(1 + 900);
    expect(cost(bodyOf(4), 'large', outputs)).toBe((1 + 4_096) * 10);
  });

  it.each([{ max_tokens: 1e9 }, { max_tokens: -1 }, { max_tokens: '7' }, { max_tokens: 1.5 }])(
    'has no more output than the setting, and ignores what is no bound: %j',
    (fields) => {
      expect(cost(bodyOf(4, fields), 'small', outputsOf([], 1_000))).toBe(1 + 1_000);
    },
  );
});
