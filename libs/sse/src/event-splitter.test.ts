import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventSplitter, SseOverflowError } from './events.ts';

describe('EventSplitter', () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('cuts at blank lines, which belong to the event before: %s', (_name, end) => {
    const events = [`event: a${end}data: 1${end}${end}`, `data: 2${end}${end}`, `: comment${end}${end}`, end];
    expect(split([events.join('')])).toEqual(events);
  });

  it('gives an event as soon as its blank line is there', () => {
    const events: string[] = [];
    const splitter = new EventSplitter({ maxEventBytes: 99, onEvent: (event) => events.push(event.toString()) });
    splitter.push(Buffer.from('data: 1\n'));
    expect(events).toEqual([]);
    splitter.push(Buffer.from('\ndata'));
    expect(events).toEqual(['data: 1\n\n']);
  });

  it('returns what the stream ends in, if it is no whole event', () => {
    const events: string[] = [];
    const splitter = new EventSplitter({ maxEventBytes: 99, onEvent: (event) => events.push(event.toString()) });
    splitter.push(Buffer.from('data: 1\r\n\r'));
    expect(events).toEqual([]);
    expect(splitter.end().toString()).toBe('');
    expect(events).toEqual(['data: 1\r\n\r']);
    splitter.push(Buffer.from('data: 2\r'));
    expect(splitter.end().toString()).toBe('data: 2\r');
  });

  it('refuses an event over the limit, in one chunk or many, ended or not', () => {
    const large = `data: ${'x'.repeat(100)}\n\n`;
    expect(() => split([large], 64)).toThrow(SseOverflowError);
    expect(() => split([...large], 64)).toThrow(SseOverflowError);
    expect(() => split(['x'.repeat(65)], 64)).toThrow(SseOverflowError);
    expect(split([large + large], 108)).toHaveLength(2);
  });

  it('gives the same events however the bytes are split, and loses none of them', () => {
    const lines = fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\n\r\n', 'data: 1', 'é', ': c', '\ufeff');
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 20, size: 'max' }), fc.array(fc.nat(8)), (parts, sizes) => {
        const text = parts.join('');
        const events = split([text]);
        expect(events.join('')).toBe(text);
        expect(events).toEqual(splitByTheBook(text));
        const bytes = Buffer.from(text);
        const chunks: Uint8Array[] = [];
        let start = 0;
        for (const size of sizes) {
          chunks.push(bytes.subarray(start, start + size));
          start += size;
        }
        expect(split([...chunks, bytes.subarray(start)])).toEqual(events);
        expect(split(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events);
      }),
      { numRuns: 2_000 },
    );
  });
});

function split(chunks: Iterable<string | Uint8Array>, maxEventBytes = 1_000): readonly string[] {
  const events: string[] = [];
  const splitter = new EventSplitter({ maxEventBytes, onEvent: (event) => events.push(event.toString()) });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  const rest = splitter.end().toString();
  return rest === '' ? events : [...events, rest];
}

/** Splits lines first, then groups them into events up to an empty line. */
function splitByTheBook(text: string): readonly string[] {
  const events: string[] = [];
  let event = '';
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g)) {
    event += line;
    if (!/^[\r\n]/.test(line)) continue;
    events.push(event);
    event = '';
  }
  return event === '' ? events : [...events, event];
}
