import { parseJson } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseProviderEvent } from './parse-event.ts';
import { type PlainDelta, readPlainDelta } from './read-plain-delta.ts';

const head = 'event: content_block_delta\ndata: ';

describe('a plain delta', () => {
  it.each([
    ['text', { type: 'text_delta', text: 'Hé "there"\n' }],
    ['arguments', { type: 'input_json_delta', partial_json: '{"city": ' }],
    ['thinking', { type: 'thinking_delta', thinking: 'hm \\ hm' }],
  ])('is read without parsing: %s', (_what, delta) => {
    const data = JSON.stringify({ type: 'content_block_delta', index: 12, delta });
    expectAsParsed(data);
    expect(read(data)).toBeDefined();
    expect(read(`${data.slice(0, -1)}   } `)).toEqual(read(data));
  });

  it('stands anywhere in a text', () => {
    const block = `${head}{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`;
    const before = 'event: ping\ndata: {}\n\n';
    expect(readPlainDelta(`${before}${block}\n\n${block}`, before.length, before.length + block.length)).toEqual({
      kind: 'text-delta',
      index: 0,
      text: 'Hi',
      textJson: '"Hi"',
    });
  });

  it('is the very event that parsing gives, however its bytes are changed', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 6 });
    const piece = fc.oneof(text, fc.constantFrom('\\', '"', '\n', '\t', '}', '\ud83d', '"}}', '\u2028'));
    const delta = fc.oneof(
      piece.map((value) => ({ type: 'text_delta', text: value })),
      piece.map((value) => ({ type: 'input_json_delta', partial_json: value })),
      piece.map((value) => ({ type: 'thinking_delta', thinking: value, more: 1 })),
    );
    const change = fc.record({
      at: fc.nat(),
      remove: fc.nat(2),
      insert: fc.constantFrom('', '', ' ', '0', '"', '\\', '\\n', '\\/', '\\u0041', '}', '{', '\n', ',"index":3'),
    });
    fc.assert(
      fc.property(fc.nat(1_000), delta, fc.option(change), (index, value, damage) => {
        const data = JSON.stringify({ type: 'content_block_delta', index, delta: value });
        const at = damage === null ? 0 : damage.at % data.length;
        expectAsParsed(
          damage === null ? data : decoded(data.slice(0, at) + damage.insert + data.slice(at + damage.remove)),
        );
      }),
      { numRuns: 5_000 },
    );
  });
});

function read(data: string): PlainDelta | undefined {
  const block = head + data;
  return readPlainDelta(block, 0, block.length);
}

/** Whatever is read at all is what parsing gives, and its JSON is what JSON.stringify gives. */
function expectAsParsed(data: string): void {
  const delta = read(data);
  if (delta === undefined) return;
  const { textJson, pieceJson, ...event } = { textJson: undefined, pieceJson: undefined, ...delta };
  expect({ kind: 'known', event }).toEqual(parseProviderEvent(parseJson(data), 'content_block_delta'));
  if (delta.kind === 'text-delta') expect(textJson).toBe(JSON.stringify(delta.text));
  if (delta.kind === 'input-json-delta') expect(pieceJson).toBe(JSON.stringify(delta.json));
}

/** As a stream's bytes decode: half of a surrogate pair never comes of them. */
function decoded(text: string): string {
  return Buffer.from(text).toString();
}
