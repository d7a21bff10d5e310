import fc from 'fast-check';
import { cutUp } from './cut-up.ts';
import {
  argumentsDelta,
  argumentsDone,
  itemAdded,
  itemDone,
  type Place,
  type ProviderStreamEvent,
  partAdded,
  partDone,
  reasoningDelta,
  refusalDelta,
  refusalDone,
  summaryDelta,
  textDelta,
  textDone,
} from './provider-events.ts';
import { functionCall, message, type OutputItem, reasoning, refusalPart, textPart } from './provider-items.ts';

/** An item of a response, and the events that contain it. */
export type AnyItem = AnyMessage | AnyCall | AnyReasoning | AnySearch;

export interface AnyMessage {
  readonly kind: 'message';
  readonly phase: 'commentary' | 'final_answer' | undefined;
  readonly parts: readonly AnyPart[];
  readonly shown: Shown;
}

export interface AnyPart {
  readonly kind: 'text' | 'refusal';
  readonly pieces: readonly string[];
}

export interface AnyCall {
  readonly kind: 'call';
  readonly id: string;
  readonly pieces: readonly string[];
  readonly shown: Shown;
}

export interface AnyReasoning {
  readonly kind: 'reasoning';
  readonly isSummary: boolean;
  readonly pieces: readonly string[];
  readonly shown: Shown;
}

export interface AnySearch {
  readonly kind: 'search';
}

/** The events that contain an item. At least one contains the whole item. */
interface Shown {
  readonly added: boolean;
  /** Deltas may stop before the end if a later event contains the rest. */
  readonly deltas: 'all' | 'first' | 'none';
  readonly done: boolean;
  readonly itemDone: boolean;
}

const anyShown: fc.Arbitrary<Shown> = fc
  .record({
    added: fc.boolean(),
    deltas: fc.constantFrom('all', 'first', 'none'),
    done: fc.boolean(),
    itemDone: fc.boolean(),
  })
  .map((shown) => ({ ...shown, itemDone: shown.itemDone || !(shown.added && (shown.deltas === 'all' || shown.done)) }));

/** Unicode of all kinds, escapes, and text that resembles the protocol itself. */
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', '\\u0041\\"\\', '\n\n', '\r\ndata:{}', '[DONE]', '\u2028\ufeff\u0000', '{"type":"error"}'),
);

const anyArguments = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom('', '{}', '[', '12345678901234567890'),
  anyText,
);

/** Split at any place, even within characters; some of the pieces are empty. */
function inPieces(whole: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  return fc.tuple(whole, fc.array(fc.nat(100), { maxLength: 4 })).map(([said, cuts]) => cutUp(said, cuts));
}

const anyMessage: fc.Arbitrary<AnyMessage> = fc
  .record({
    kind: fc.constant('message' as const),
    phase: fc.constantFrom('commentary', 'final_answer', undefined),
    parts: fc.array(
      fc.record({ kind: fc.constantFrom('text', 'text', 'text', 'refusal'), pieces: inPieces(anyText) }),
      { maxLength: 3 },
    ),
    shown: anyShown,
  })
  .map((item) => ({ ...item, shown: shownInOrder(item) }));

/**
 * The phase applies from the start of a message, so a message with a phase starts with it. A part
 * ends before the next one starts.
 */
function shownInOrder({ shown, phase, parts }: AnyMessage): Shown {
  return {
    ...shown,
    added: shown.added || phase !== undefined,
    done: shown.done || (shown.deltas === 'first' && parts.length > 1),
  };
}

const anyCall: fc.Arbitrary<AnyCall> = fc.record({
  kind: fc.constant('call'),
  id: fc.string({ unit: 'grapheme-ascii', maxLength: 70 }),
  pieces: inPieces(anyArguments),
  shown: anyShown,
});

const anyReasoning: fc.Arbitrary<AnyReasoning> = fc.record({
  kind: fc.constant('reasoning'),
  isSummary: fc.boolean(),
  pieces: inPieces(anyText),
  shown: anyShown,
});

/** Each call has a different id. */
export const anyItems: fc.Arbitrary<readonly AnyItem[]> = fc
  .array(fc.oneof(anyMessage, anyMessage, anyCall, anyCall, anyReasoning, fc.constant({ kind: 'search' as const })), {
    maxLength: 6,
  })
  .map((items) => items.map((item, index) => (item.kind === 'call' ? { ...item, id: `${index}_${item.id}` } : item)));

export function nameOf(call: AnyCall): string {
  return `function_${call.id.split('_')[0]}`;
}

/** The events that contain an item, in order. */
export function itemEvents(item: AnyItem, at: number): readonly ProviderStreamEvent[] {
  switch (item.kind) {
    case 'message':
      return around(
        item,
        at,
        item.parts.flatMap((part, index) => partEvents(part, { item: at, part: index }, item.shown)),
      );
    case 'call':
      return around(item, at, [
        ...deltasShown(item).map((delta) => argumentsDelta(delta, at)),
        ...(item.shown.done ? [argumentsDone(item.pieces.join(''), at)] : []),
      ]);
    case 'reasoning':
      return around(
        item,
        at,
        item.pieces.map((delta) => (item.isSummary ? summaryDelta(delta, at) : reasoningDelta(delta, at))),
      );
    case 'search':
      return [{ type: 'response.web_search_call.completed', sequence_number: 0, item_id: 'ws', output_index: at }];
  }
}

/** The whole item as the provider lists it. */
export function wireItem(item: AnyItem): OutputItem {
  switch (item.kind) {
    case 'message':
      return message(item.parts.map(wirePart), item.phase === undefined ? {} : { phase: item.phase });
    case 'call':
      return functionCall(item.id, nameOf(item), item.pieces.join(''));
    case 'reasoning':
      return reasoning();
    case 'search':
      return { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'x' } };
  }
}

function around(
  item: Exclude<AnyItem, AnySearch>,
  at: number,
  events: readonly ProviderStreamEvent[],
): readonly ProviderStreamEvent[] {
  return [
    ...(item.shown.added ? [itemAdded(begun(item), at)] : []),
    ...events,
    ...(item.shown.itemDone ? [itemDone(wireItem(item), at)] : []),
  ];
}

function begun(item: Exclude<AnyItem, AnySearch>): OutputItem {
  if (item.kind === 'message')
    return message([], { status: 'in_progress', ...(item.phase !== undefined && { phase: item.phase }) });
  return item.kind === 'call' ? functionCall(item.id, nameOf(item)) : reasoning();
}

function partEvents({ kind, pieces }: AnyPart, place: Place, shown: Shown): readonly ProviderStreamEvent[] {
  const whole = pieces.join('');
  const [delta, done] = kind === 'text' ? [textDelta, textDone] : [refusalDelta, refusalDone];
  return [
    ...(shown.added ? [partAdded(wirePart({ kind, pieces: [] }), place)] : []),
    ...deltasShown({ pieces, shown }).map((piece) => delta(piece, place)),
    ...(shown.done ? [done(whole, place), partDone(wirePart({ kind, pieces }), place)] : []),
  ];
}

function wirePart({ kind, pieces }: AnyPart) {
  return kind === 'text' ? textPart(pieces.join('')) : refusalPart(pieces.join(''));
}

function deltasShown({
  pieces,
  shown,
}: {
  readonly pieces: readonly string[];
  readonly shown: Shown;
}): readonly string[] {
  if (shown.deltas === 'none') return [];
  return shown.deltas === 'all' ? pieces : pieces.slice(0, 1);
}
