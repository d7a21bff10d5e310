import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { UsageRowSchema } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { describe, expect, it } from 'vitest';
import { changeText, costNote, costText, measuresOf, sumOf } from './measures.ts';

const row = (init: MessageInitShape<typeof UsageRowSchema>) => create(UsageRowSchema, init);

describe('measures of usage', () => {
  it('have no money without prices', () => {
    expect(Object.keys(measuresOf(''))).toEqual(['tokens', 'requests']);
    const { usage, cost } = row({
      usage: { totals: { inputTokens: 10, outputTokens: 5 } },
      cost: { micros: 1_250_000 },
    });
    const { tokens, money } = measuresOf('EUR');
    expect(tokens?.of(usage?.totals, cost)).toBe(15);
    expect(money?.format(money.of(usage?.totals, cost))).toBe('1.25 EUR');
  });

  it('add up, for the period and for the one before', () => {
    const rows = [
      row({
        usage: { totals: { requests: 2, inputTokens: 7, cacheWrite5mTokens: 1, cacheWrite1hTokens: 2 } },
        cost: { micros: 5, unpricedTokens: 3, computedAfterwardsMicros: 4 },
        before: { requests: 1 },
      }),
      row({ usage: { totals: { requests: 1, outputTokens: 4 } }, cost: { micros: 6 } }),
    ];
    expect(sumOf(rows)).toEqual({
      requests: 3,
      inputTokens: 7,
      cachedTokens: 0,
      cacheWriteTokens: 3,
      outputTokens: 4,
      costMicros: 11,
      unpricedTokens: 3,
      unpricedCalls: 0,
      computedAfterwardsMicros: 4,
    });
    expect(sumOf(rows, 'before')).toMatchObject({ requests: 1, inputTokens: 0, costMicros: 0 });
  });

  it('say what is missing in a cost, and what was computed afterwards', () => {
    const note = (unpricedTokens: number, computedAfterwardsMicros: number, unpricedCalls = 0) =>
      costNote({ unpricedTokens, unpricedCalls, computedAfterwardsMicros }, 'EUR');
    expect(note(0, 0)).toBeUndefined();
    expect(note(3, 0)).toBe('excludes 3 tokens without a price');
    expect(note(0, 0, 1)).toBe('excludes 1 tool call without a price');
    expect(note(3, 0, 2)).toBe('excludes 3 tokens and 2 tool calls without a price');
    expect(note(1, 1_250_000)).toBe(
      "excludes 1 token without a price; 1.25 EUR computed afterwards, at today's prices",
    );
  });

  it('have a cost in money, or none if nothing has a price', () => {
    const none = { costMicros: 0, unpricedTokens: 0, unpricedCalls: 0, computedAfterwardsMicros: 0 };
    const texts = [none, { ...none, unpricedTokens: 3 }, { ...none, costMicros: 1_250_000, unpricedCalls: 1 }].map(
      (facts) => costText(facts, 'EUR'),
    );
    expect(texts).toEqual(['0.00 EUR', 'no price', '1.25 EUR']);
  });

  it('are compared', () => {
    expect([
      changeText(112, 100),
      changeText(97, 100),
      changeText(5, 0),
      changeText(0, 0),
      changeText(1000, 1001),
    ]).toEqual(['+12\u00a0%', '−3\u00a0%', 'new', '', '±0\u00a0%']);
  });
});
