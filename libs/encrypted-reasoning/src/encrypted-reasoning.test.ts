import { BufferList, JsonScanner } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastReasoningIn, reasoningAt, reasoningDigest, reasoningStrings } from './encrypted-reasoning.ts';

const reasoning = (letter: string) => `gAAAAA${letter.repeat(90)}==`;
const find = (value: unknown, spaces?: number) =>
  lastReasoningIn(Buffer.from(JSON.stringify(value, undefined, spaces)), 'encrypted_content');

describe('the last encrypted reasoning', () => {
  it('is the last one in the text, however deep', () => {
    const input = [
      { type: 'reasoning', encrypted_content: reasoning('a') },
      { type: 'message', content: [{ inner: { encrypted_content: reasoning('b') } }] },
      { type: 'function_call', arguments: '{}' },
    ];
    expect(find({ input })).toBe(reasoningDigest(reasoning('b')));
    expect(find({ input }, 2)).toBe(reasoningDigest(reasoning('b')));
  });

  it('is of the member that was asked for', () => {
    const json = Buffer.from(JSON.stringify({ signature: reasoning('s'), encrypted_content: reasoning('e') }));
    expect(lastReasoningIn(json, 'signature')).toBe(reasoningDigest(reasoning('s')));
    expect(lastReasoningIn(json, 'encrypted_content')).toBe(reasoningDigest(reasoning('e')));
  });

  it.each([
    ['nothing', {}],
    ['null', { encrypted_content: null }],
    ['an empty text', { encrypted_content: '' }],
    ['a short text', { encrypted_content: 'yes' }],
    ['an object', { encrypted_content: { text: reasoning('a') } }],
    ['a text with escapes', { encrypted_content: `${reasoning('a')}\n` }],
    ['a name in a text', { text: `{"encrypted_content":"${reasoning('a')}"}` }],
    ['a name as a value', { text: 'encrypted_content' }],
  ])('is not there with %s', (_what, value) => {
    expect(find(value)).toBeUndefined();
  });

  it('is found behind others that are none', () => {
    expect(
      find([{ encrypted_content: reasoning('a') }, { encrypted_content: null }, { text: 'encrypted_content' }]),
    ).toBe(reasoningDigest(reasoning('a')));
  });

  it('is found in a body that only pretends to have many', () => {
    const pretended = Array.from({ length: 1_000 }, () => ({ encrypted_content: null }));
    expect(find([{ encrypted_content: reasoning('a') }, ...pretended])).toBe(reasoningDigest(reasoning('a')));
  });

  it('is not there with a text that takes long to digest, and that an answer does not announce either', () => {
    const long = 'a'.repeat(1024 * 1024 + 1);
    expect(find({ encrypted_content: long })).toBeUndefined();
    expect(reasoningDigest(long)).toBeUndefined();
    expect(find({ encrypted_content: long.slice(1) })).toBe(reasoningDigest(long.slice(1)));
  });

  it('takes a cut text for none', () => {
    expect(
      lastReasoningIn(Buffer.from(`{"encrypted_content":"${'a'.repeat(64)}`), 'encrypted_content'),
    ).toBeUndefined();
  });

  it('is the one that was tracked while the text was read', () => {
    const value = fc.oneof(fc.constantFrom(reasoning('a'), reasoning('b'), 'short', '', null), fc.nat());
    const key = fc.constantFrom('signature', 'arguments', 'signatur', 'text');
    const body = fc.array(fc.tuple(key, value).map(([name, each]) => ({ [name]: [each], inner: { [name]: each } })));
    fc.assert(
      fc.property(body, fc.nat(3), fc.integer({ min: 1, max: 200 }), (turns, spaces, chunkBytes) => {
        const json = Buffer.from(JSON.stringify({ turns }, undefined, spaces));
        const scanner = new JsonScanner({ tracked: reasoningStrings('signature') });
        const chunks: Buffer[] = [];
        for (let start = 0; start < json.length; start += chunkBytes) {
          chunks.push(Buffer.from(json.subarray(start, start + chunkBytes)));
        }
        for (const chunk of chunks) scanner.push(chunk);
        scanner.end();
        const found = reasoningAt(new BufferList(chunks), scanner.trackedString);
        expect(found).toBe(lastReasoningIn(json, 'signature'));
      }),
    );
  });
});
