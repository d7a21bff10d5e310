import { create } from '@bufbuild/protobuf';
import { ModelPriceSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { costOf } from './request-cost.ts';

const prices = [
  { model: 'gpt-5.5', inputMicros: 2_000_000n, cachedInputMicros: 200_000n, outputMicros: 10_000_000n },
  { model: 'claude-*-5', inputMicros: 3_000_000n, cachedInputMicros: 0n, outputMicros: 0n },
].map((price) => create(ModelPriceSchema, price));

const used = { inputTokens: 1_000n, cachedTokens: 400n, outputTokens: 100n };

describe('the cost of a request', () => {
  it('counts cached input at its own price', () => {
    expect(costOf(used, 'gpt-5.5', prices)).toBe(600 * 2 + 400 * 0.2 + 100 * 10);
  });

  it('uses the first matching pattern, and is unknown without one', () => {
    expect(costOf(used, 'claude-sonnet-5', prices)).toBe(1_800);
    expect(costOf(used, 'claude-5', prices)).toBeUndefined();
    expect(costOf(used, 'gpt-5.5-mini', prices)).toBeUndefined();
  });
});
