import { create, equals } from '@bufbuild/protobuf';
import { OverviewPointSchema } from '@gateway/proto/admin/v1/system_service_pb.js';
import { TokenListingSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { visibleJson, visibleLines, visibleText, withVisibleTexts } from './visible-text.ts';

describe('a text as people see it', () => {
  it.each([
    ['admin\u200b', 'admin�'],
    ['user\u202egpj.exe', 'user�gpj.exe'],
    ['\x1b[31mred\x9b', ' [31mred '],
    ['one\ntwo\u2028three', 'one two�three'],
    ['\u00ad\ufeff\u{e0041}', '���'],
    ['👩‍🚀 and 👩🏽‍🚀 and 🏳️‍🌈', '👩‍🚀 and 👩🏽‍🚀 and 🏳️‍🌈'],
    ['a\u200db \u200d', 'a�b �'],
    ['Ünïcode 日本 العربية', 'Ünïcode 日本 العربية'],
  ])('%j is %j', (text, seen) => {
    expect(visibleText(text)).toBe(seen);
  });

  it('has its lines and tabs where it is of many lines', () => {
    expect(visibleLines('a\tb\nc\r\x1bd\u202e')).toBe('a\tb\nc  d�');
  });

  it('has nothing in it that cannot be seen, besides joiners of pictures', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visibleText(text).replaceAll('\u200d', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});

describe('a message as people see it', () => {
  it('is the same besides its texts, and keeps the lines of its notes', () => {
    const token = { label: 'a\u202e\n', note: 'one\ntwo\u200b', limits: { tokensPerDay: 5 } };
    const listing = create(TokenListingSchema, { token, tokensByDay: [1] });
    const seen = create(TokenListingSchema, {
      token: { label: 'a� ', note: 'one\ntwo�', limits: { tokensPerDay: 5 } },
      tokensByDay: [1],
    });
    expect(equals(TokenListingSchema, withVisibleTexts(listing), seen)).toBe(true);
    expect(listing.token?.label).toBe('a\u202e\n');
    const point = create(OverviewPointSchema, { tokensPerMinuteByModel: { 'm\u200b': 1 }, firstTokenP50Seconds: 0 });
    expect(withVisibleTexts(point)).toEqual(
      create(OverviewPointSchema, { tokensPerMinuteByModel: { 'm�': 1 }, firstTokenP50Seconds: 0 }),
    );
  });
});

describe('JSON as people see it', () => {
  it('says the same, with escapes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = visibleJson(JSON.stringify({ text }));
        expect(JSON.parse(json)).toEqual({ text });
        expect(json).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});
