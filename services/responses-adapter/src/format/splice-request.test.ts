import { BufferList, JsonBody, JsonScanner, readJsonBody } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spliceRequest } from './relay-translator.ts';

const isLong = process.env.FAULTS === 'long';

describe('spliceRequest', () => {
  it('sets model, stream and store where they stand', () => {
    expect(splice('{"store":true, "model" : "x","stream":false,"input":[]}')).toBe(
      '{"store":false, "model" : "gpt-5.5","stream":true,"input":[]}',
    );
  });

  it('adds what is absent, at the end', () => {
    expect(splice('{\n  "model": "x",\n  "input": []\n}\n')).toBe(
      '{\n  "model": "gpt-5.5",\n  "input": [],"stream":true,"store":false\n}\n',
    );
    expect(splice(' { } ')).toBe(' {"model":"gpt-5.5","stream":true,"store":false } ');
  });

  it.each([
    ['first', '{ "client_metadata": {"a":1} , "model":"x" }', '{ "model":"gpt-5.5",A }'],
    ['last', '{ "model":"x" , "max_output_tokens":5 }', '{ "model":"gpt-5.5",A }'],
    ['in between', '{"model":"x", "client_metadata":{} ,"n":1}', '{"model":"gpt-5.5" ,"n":1,A}'],
    ['first, twice', '{"max_output_tokens":1, "client_metadata":2, "model":"x"}', '{"model":"gpt-5.5",A}'],
    ['last, twice', '{"model":"x", "client_metadata":2, "client_metadata":3}', '{"model":"gpt-5.5",A}'],
    ['all there is', '{ "client_metadata":2 , "max_output_tokens":3 }', '{ "model":"gpt-5.5",A }'],
  ])('removes members that stand %s, with one comma', (_where, body, expected) => {
    expect(splice(body)).toBe(expected.replace('A', '"stream":true,"store":false'));
  });

  it('sets every one of a repeated key, and keys in escapes', () => {
    expect(splice('{"model":1,"st\\u006fre":true,"model":"x","\\u0073tream":0,"stream":null}')).toBe(
      '{"model":"gpt-5.5","st\\u006fre":false,"model":"gpt-5.5","\\u0073tream":true,"stream":true}',
    );
    expect(splice('{"model":"x","client\\u005fmetadata":{},"store":true,"stream":true}')).toBe(
      '{"model":"gpt-5.5","store":false,"stream":true}',
    );
  });

  it('leaves alone keys of backslashes', () => {
    const others = String.raw`"\\":1,"\u005c":2,"\u0020":3,"\\u0020":4`;
    expect(splice(`{"model":"x",${others},"stream":true,"store":false}`)).toBe(
      `{"model":"gpt-5.5",${others},"stream":true,"store":false}`,
    );
  });

  it('leaves alone what is deeper, and what it does not know', () => {
    const inner = '"input":[{"model":"a","store":1,"store":2,"stream":0,"client_metadata":{},"max_output_tokens":1}]';
    const others = '"seed":12345678901234567890,"x":1.0e+2,"__proto__":{},"prompt_cache_key":"k","": "\\ud83d\\/é"';
    expect(splice(`{"model":"x",${inner},${others},"stream":true,"store":false}`)).toBe(
      `{"model":"gpt-5.5",${inner},${others},"stream":true,"store":false}`,
    );
  });

  it.each([
    ['invalid_json', '{"model":'],
    ['invalid_request', '[]'],
  ])('throws %s for a body that is no object', (code, body) => {
    expect(() => splice(body)).toThrow(expect.objectContaining({ code }));
  });

  it('keeps every byte of every other member, in order, and parses to the original with the rules applied', () => {
    fc.assert(
      fc.property(body, (text) => {
        const spliced = splice(text);
        expect(membersOf(spliced).filter(isUntouched)).toEqual(membersOf(text).filter(isUntouched));
        const { max_output_tokens: _tokens, client_metadata: _metadata, ...rest } = JSON.parse(text);
        expect(JSON.parse(spliced)).toEqual({ ...rest, model: 'gpt-5.5', stream: true, store: false });
        expect(splice(spliced)).toBe(spliced);
      }),
      { numRuns: isLong ? 2_000 : 500 },
    );
  });
});

function splice(text: string): string {
  const bytes = Buffer.from(text);
  const spliced = Buffer.concat(spliceRequest(readJsonBody(bytes), 'gpt-5.5'));
  // The pieces in which the body arrives make no difference.
  const pieces = Array.from({ length: Math.ceil(bytes.length / 5) }, (_, index) =>
    bytes.slice(5 * index, 5 * index + 5),
  );
  const inPieces = readJsonBody(new BufferList(pieces.map((piece) => Uint8Array.from(piece))));
  expect(Buffer.concat(spliceRequest(inPieces, 'gpt-5.5'))).toEqual(spliced);
  return spliced.toString();
}

interface RawMember {
  readonly key: string;
  readonly text: string;
}

function membersOf(text: string): readonly RawMember[] {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner();
  scanner.push(bytes);
  scanner.end();
  const { namedMembers } = new JsonBody(new BufferList([bytes]), scanner);
  return namedMembers.map(({ key, keyStart, valueEnd }) => ({ key, text: bytes.toString('utf8', keyStart, valueEnd) }));
}

const ruledKeys = ['model', 'stream', 'store', 'max_output_tokens', 'client_metadata'];

function isUntouched({ key }: RawMember): boolean {
  return !ruledKeys.includes(key);
}

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 3 });

const value = fc.oneof(
  fc.constantFrom('12345678901234567890', '-0.10E+3', '{"a":1,"a":{"model":2}}', '"\\u0073 \\" é 東"', '[ ]'),
  fc.jsonValue().map((json) => JSON.stringify(json, null, 1)),
);

/** Some of the key's characters are escaped. */
const key = fc
  .tuple(fc.oneof(fc.constantFrom(...ruledKeys), fc.string({ maxLength: 5 })), fc.array(fc.boolean()))
  .map(([text, escaped]) => {
    const units = Array.from({ length: text.length }, (_, at) =>
      escaped[at] ? `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}` : JSON.stringify(text[at]).slice(1, -1),
    );
    return `"${units.join('')}"`;
  })
  // A parsed object would not have it as an ordinary member.
  .filter((quoted) => JSON.parse(quoted) !== '__proto__')
  // V8 14.6 may read an escaped key as another key of the same length in an earlier object, if the
  // escaped text starts with that key. "\u0020" starts with a backslash. So no key may contain one.
  .filter((quoted) => !String(JSON.parse(quoted)).includes('\\'));

const member = fc
  .tuple(space, key, space, space, value, space)
  .map(([a, name, b, c, json, d]) => `${a}${name}${b}:${c}${json}${d}`);

const body = fc
  .tuple(space, fc.array(member, { maxLength: 8 }), space)
  .map(([before, members, after]) => `${before}{${members.join(',')}}${after}`);
