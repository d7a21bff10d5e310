import fc from 'fast-check';
import { cutUp } from './cut-up.ts';

/** One way to write events as a stream of bytes that is split anywhere. */
export interface ArbitraryFraming {
  readonly lineEnd: '\n' | '\r\n' | '\r';
  readonly hasByteOrderMark: boolean;
  readonly hasNames: boolean;
  readonly hasSpace: boolean;
  /** All characters outside ASCII as `\u` escapes. */
  readonly escapes: boolean;
  /** The JSON spans several lines. */
  readonly indents: boolean;
  readonly noise: readonly Noise[];
  readonly cuts: readonly number[];
}

/** Something without content, before the event with this number. */
interface Noise {
  readonly before: number;
  readonly lines: string;
}

export interface FramedEvents {
  readonly bytes: Uint8Array;
  readonly pieces: readonly Uint8Array[];
  readonly unknownEvents: number;
}

const unknownEvent = 'data: {"type":"response.novelty","output_index":0,"delta":"new"}\n\n';

export const anyFraming: fc.Arbitrary<ArbitraryFraming> = fc.record({
  lineEnd: fc.constantFrom('\n', '\n', '\r\n', '\r'),
  hasByteOrderMark: fc.boolean(),
  hasNames: fc.boolean(),
  hasSpace: fc.boolean(),
  escapes: fc.boolean(),
  indents: fc.boolean(),
  noise: fc.array(
    fc.record({
      before: fc.nat(40),
      lines: fc.constantFrom(
        unknownEvent,
        ': keep-alive\n\n',
        ': comment\n',
        'event: ping\n\n',
        'event: ping\ndata: {}\n\n',
        'data: {"type":"keepalive"}\n\n',
        'data: [DONE]\n\n',
        'data:\n\n',
        '\n\n',
      ),
    }),
    { maxLength: 4 },
  ),
  cuts: fc.array(fc.nat(20_000), { maxLength: 12 }),
});

export function frameEvents(events: readonly { readonly type: string }[], framing: ArbitraryFraming): FramedEvents {
  const noise = framing.noise.map(({ before, lines }) => ({ before: before % events.length, lines }));
  const stream = events
    .map((event, index) => {
      const before = noise.filter((noisy) => noisy.before === index).map(({ lines }) => lines);
      return [...before, frameEvent(event, framing)].join('');
    })
    .join('');
  const text = (framing.hasByteOrderMark ? '\ufeff' : '') + stream.replaceAll('\n', framing.lineEnd);
  const bytes = new TextEncoder().encode(text);
  return {
    bytes,
    pieces: cutUp(bytes, framing.cuts),
    unknownEvents: noise.filter(({ lines }) => lines === unknownEvent).length,
  };
}

function frameEvent(
  event: { readonly type: string },
  { hasNames, hasSpace, escapes, indents }: ArbitraryFraming,
): string {
  const json = JSON.stringify(event, null, indents ? 1 : 0);
  const field = hasSpace ? 'data: ' : 'data:';
  const data = (escapes ? inAscii(json) : json)
    .split('\n')
    .map((line) => field + line)
    .join('\n');
  return `${hasNames ? `event: ${event.type}\n` : ''}${data}\n\n`;
}

function inAscii(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
