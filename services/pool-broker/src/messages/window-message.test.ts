import { create } from '@bufbuild/protobuf';
import { QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { fromWindowMessages, toWindowMessage } from './window-message.ts';

describe('a quota as a message', () => {
  it('says the same there and back', () => {
    const windows = [
      { name: '7d_opus', models: '*opus*', usedFraction: 0.25, resetsAtMs: 1_795_132_800_123, lengthMs: 604_800_000 },
      { name: 'requests', models: 'gpt-5.5', usedFraction: 1.5, resetsAtMs: undefined, lengthMs: undefined },
    ];
    const messages = windows.map((window) => create(QuotaWindowSchema, toWindowMessage(window)));
    expect(fromWindowMessages(messages)).toEqual(windows);
  });

  it('is passed over when it says nothing of use', () => {
    const useless = [{ name: '' }, { name: 'a', usedFraction: Number.NaN }, { name: 'a', usedFraction: -1 }];
    expect(fromWindowMessages(useless.map((fields) => create(QuotaWindowSchema, fields)))).toEqual([]);
    const many = Array.from({ length: 100 }, (_, n) => create(QuotaWindowSchema, { name: `${n}` }));
    expect(fromWindowMessages(many)).toHaveLength(16);
  });
});
