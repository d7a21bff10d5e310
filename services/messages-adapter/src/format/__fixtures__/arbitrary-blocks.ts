import fc from 'fast-check';
import {
  blockDelta,
  blockStart,
  blockStop,
  type Events,
  jsonDelta,
  oddEvent,
  type ProviderBlock,
  type ProviderDelta,
  textDelta,
  thinkingDelta,
  toolUse,
} from './provider-events.ts';

/** One event of a block, and its content for a client. */
export interface BlockStep {
  readonly block: number;
  readonly event: Events[number];
  readonly shows?: Shown;
  /** True for an event that no reader can know. */
  readonly isUnknown?: true;
}

export type Shown =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'arguments'; readonly text: string }
  /** The end of a call that received no arguments. */
  | { readonly kind: 'none' }
  /** A call with all its arguments. */
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly arguments: string };

/** Creates a block at the given index. */
export type MakeBlock = (index: number) => readonly BlockStep[];

/** Any text: every code point, escapes, quotes, line ends. */
export const arbitraryText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('"\\"', '\\u0041', '\r\n\n', '\u2028', 'data: [DONE]\n\n', '{"type":"message_stop"}', ' ', '👩‍👧'),
);

/** A text split anywhere, even between the halves of a character. */
function inPieces(text: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  return fc.tuple(text, fc.array(fc.nat(), { maxLength: 4 })).map(([whole, cuts]) => {
    const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).toSorted((a, b) => a - b), whole.length];
    return places.slice(1).map((place, at) => whole.slice(places[at], place));
  });
}

const textBlock: fc.Arbitrary<MakeBlock> = fc
  .tuple(inPieces(arbitraryText), fc.boolean())
  .map(([pieces, beginsWithText]) => (block) => {
    const [first = '', ...rest] = beginsWithText ? pieces : ['', ...pieces];
    const begun: BlockStep = {
      block,
      event: blockStart(block, { type: 'text', text: first, citations: null }),
      shows: { kind: 'text', text: first },
    };
    const deltas = rest.map(
      (text): BlockStep => ({ block, event: blockDelta(block, textDelta(text)), shows: { kind: 'text', text } }),
    );
    return [begun, ...deltas, { block, event: blockStop(block) }];
  });

const identity = fc.record({
  id: fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
  name: fc.string({ maxLength: 20 }),
});
const anyArguments = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 1)),
  arbitraryText,
);

const streamedCall: fc.Arbitrary<MakeBlock> = fc
  .record({ identity, pieces: inPieces(anyArguments) })
  .map(({ identity: { id, name }, pieces }) => (block) => {
    const json = pieces.join('');
    const begun: BlockStep = {
      block,
      event: blockStart(block, toolUse(id, name)),
      shows: { kind: 'call', id, name, arguments: json },
    };
    const deltas = ['', ...pieces].map(
      (text): BlockStep => ({ block, event: blockDelta(block, jsonDelta(text)), shows: { kind: 'arguments', text } }),
    );
    const stopped: BlockStep = { block, event: blockStop(block) };
    return [begun, ...deltas, json === '' ? { ...stopped, shows: { kind: 'none' } } : stopped];
  });

const wholeCall: fc.Arbitrary<MakeBlock> = fc
  .record({ identity, input: fc.dictionary(fc.string(), fc.jsonValue()) })
  .map(({ identity: { id, name }, input }) => (block) => {
    const text = Object.keys(input).length === 0 ? '' : JSON.stringify(JSON.parse(JSON.stringify(input)));
    return [
      { block, event: blockStart(block, toolUse(id, name, input)), shows: { kind: 'call', id, name, arguments: text } },
      { block, event: blockStop(block), shows: text === '' ? { kind: 'none' } : { kind: 'arguments', text } },
    ];
  });

const silentDelta: fc.Arbitrary<ProviderDelta> = fc.oneof(
  arbitraryText.map(thinkingDelta),
  arbitraryText.map(jsonDelta),
  arbitraryText.map(textDelta),
  arbitraryText.map((signature): ProviderDelta => ({ type: 'signature_delta', signature })),
);

const silentStart: fc.Arbitrary<ProviderBlock> = fc.oneof(
  arbitraryText.map((thinking): ProviderBlock => ({ type: 'thinking', thinking, signature: '' })),
  arbitraryText.map((data): ProviderBlock => ({ type: 'redacted_thinking', data })),
  fc.constant<ProviderBlock>({ type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search', input: {} }),
  fc.constant<ProviderBlock>({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_01', content: [] }),
);

const silentBlock: fc.Arbitrary<MakeBlock> = fc
  .tuple(silentStart, fc.array(silentDelta, { maxLength: 4 }))
  .map(([content, deltas]) => (block) => [
    { block, event: blockStart(block, content) },
    ...deltas.map((delta) => ({ block, event: blockDelta(block, delta) })),
    { block, event: blockStop(block) },
  ]);

const unknownBlock: fc.Arbitrary<MakeBlock> = fc.array(silentDelta, { maxLength: 3 }).map((deltas) => (block) => [
  {
    block,
    event: oddEvent({ type: 'content_block_start', index: block, content_block: { type: 'novelty', text: 'no' } }),
    isUnknown: true,
  },
  ...deltas.map((delta) => ({ block, event: blockDelta(block, delta) })),
  { block, event: blockStop(block) },
]);

export const arbitraryBlock: fc.Arbitrary<MakeBlock> = fc.oneof(
  { weight: 4, arbitrary: textBlock },
  { weight: 4, arbitrary: streamedCall },
  { weight: 1, arbitrary: wholeCall },
  { weight: 2, arbitrary: silentBlock },
  { weight: 1, arbitrary: unknownBlock },
);
