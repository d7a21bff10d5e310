import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEventData } from './parse-event.ts';
import { type PlainDelta, readPlainDelta } from './read-plain-delta.ts';

const types = [
  'response.output_text.delta',
  'response.function_call_arguments.delta',
  'response.reasoning_summary_text.delta',
];

describe('a plain delta', () => {
  it.each(types)('is read without parsing: %s', (type) => {
    const members = { sequence_number: 7, item_id: 'msg_1', output_index: 2, content_index: 1 };
    const data = JSON.stringify({ type, ...members, delta: 'Hé "there"\n', logprobs: [], obfuscation: 'xY' });
    expect(read(type, data)).toBeDefined();
    expectAsParsed(type, data);
    expectAsParsed(type, JSON.stringify({ type, delta: 'Hi' }));
  });

  it('is the very event that parsing gives, whatever members it has and however its bytes are changed', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.constantFrom('\\', '"', '\n', '","delta":"', '\ud83d', '}'),
    );
    const value = fc.oneof(text, fc.nat(100), fc.constantFrom(null, true, -1, 1.5, [], [1], {}));
    const key = fc.constantFrom('delta', 'delta', 'output_index', 'content_index', 'item_id', 'type', 'error', 'x"y');
    const member = fc.tuple(key, value).map(([name, content]) => `,${JSON.stringify(name)}:${JSON.stringify(content)}`);
    const change = fc.record({
      at: fc.nat(),
      remove: fc.nat(2),
      insert: fc.constantFrom('', '', ' ', '0', '"', '\\', '\\n', '\\/', '\\u0041', '}', '\n', ','),
    });
    fc.assert(
      fc.property(fc.constantFrom(...types), text, fc.array(member, { maxLength: 5 }), fc.option(change), (...made) => {
        const [type, delta, members, damage] = made;
        const data = `{"type":"${type}","delta":${JSON.stringify(delta)}${members.join('')}}`;
        const at = damage === null ? 0 : damage.at % data.length;
        expectAsParsed(
          type,
          damage === null ? data : decoded(data.slice(0, at) + damage.insert + data.slice(at + damage.remove)),
        );
      }),
      { numRuns: 5_000 },
    );
  });
});

function read(type: string, data: string): PlainDelta | undefined {
  const block = `event: ${type}\ndata: ${data}`;
  return readPlainDelta(block, 0, block.length);
}

/** Whatever is read at all is what parsing gives, and its JSON is what JSON.stringify gives. */
function expectAsParsed(type: string, data: string): void {
  const delta = read(type, data);
  if (delta === undefined) return;
  expect({ kind: 'known', event: withoutJson(delta) }).toEqual(parseEventData(data, type));
  if (delta.kind === 'text-delta') expect(delta.part.textJson).toBe(JSON.stringify(delta.part.text));
  if (delta.kind === 'arguments-delta') expect(delta.deltaJson).toBe(JSON.stringify(delta.delta));
}

function withoutJson(delta: PlainDelta): object {
  return delta.kind === 'text-delta'
    ? { ...delta, part: { type: delta.part.type, text: delta.part.text } }
    : { ...delta, deltaJson: undefined };
}

/** As a stream's bytes decode: half of a surrogate pair never comes of them. */
function decoded(text: string): string {
  return Buffer.from(text).toString();
}
