import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventSplitter, readEvent, type SseEvent } from './events.ts';

/** The events of a stream that have data, including an unterminated last one. */
function parse(chunks: Iterable<Uint8Array>): SseEvent[] {
  const events: SseEvent[] = [];
  const splitter = new EventSplitter({ maxEventBytes: 1_000_000, onEvent: (event) => events.push(readEvent(event)) });
  for (const chunk of chunks) splitter.push(chunk);
  events.push(readEvent(splitter.end()));
  return events.filter(({ data }) => data !== undefined);
}

const parseText = (text: string) => parse([Buffer.from(text)]);
const message = (data: string): SseEvent => ({ name: '', data });

describe('reading an event', () => {
  it('knows named and unnamed ones', () => {
    expect(parseText('event: ping\ndata: {"a":1}\n\ndata: [DONE]\n\n')).toEqual([
      { name: 'ping', data: '{"a":1}' },
      message('[DONE]'),
    ]);
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('takes lines that end in %s', (_name, end) => {
    const text = ['event: a', 'data: 1', 'data: 2', '', ': comment', 'data: 3', '', ''].join(end);
    expect(parseText(text)).toEqual([{ name: 'a', data: '1\n2' }, message('3')]);
  });

  it('takes data without a space, keeps spaces that belong to the data, and joins several lines', () => {
    expect(parseText('data:a\ndata:  b\ndata\ndata: {"c":1}   \n\n')).toEqual([message('a\n b\n\n{"c":1}   ')]);
  });

  it('skips a byte order mark before the first line only', () => {
    expect(parseText('\ufeffdata: a\n\ndata: \ufeffb\n\n')).toEqual([message('a'), message('\ufeffb')]);
    expect(parseText(': c\n\ufeffdata: a\n\n')).toEqual([]);
  });

  it('finds no data in comments, unknown fields, or a name alone', () => {
    expect(parseText(': hello\n\nid: 1\nretry: 5\ndatum: x\n\nevent: ping\n\n\n\n')).toEqual([]);
    expect(readEvent(Buffer.from('event: ping\n\n'))).toEqual({ name: 'ping', data: undefined });
  });

  it('reads the event that the stream ends in', () => {
    expect(parseText('data: a\n\ndata: b')).toEqual([message('a'), message('b')]);
    expect(parseText('data: a\r')).toEqual([message('a')]);
  });

  it('reads the same however the bytes are split', () => {
    fc.assert(
      fc.property(streamText, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (text, sizes) => {
        const bytes = Buffer.from(text);
        const whole = parse([bytes]);
        expect(parse(split(bytes, sizes))).toEqual(whole);
        expect(parse(bytewise(bytes))).toEqual(whole);
        expect(whole).toEqual(parseByTheBook(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

const streamText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\r',
        '\r\n',
        '\n\n',
        'data: ',
        'data:',
        'data',
        'event: a',
        'event:',
        ': c',
        '\ufeff',
        ' ',
      ),
      fc.string({ unit: 'binary', maxLength: 6 }).filter((text) => text.isWellFormed()),
    ),
    { maxLength: 30, size: 'max' },
  )
  .map((parts) => parts.join(''));

/**
 * The algorithm of the HTML standard, line by line, except that it also returns the unfinished last
 * event and skips a mark before any event.
 */
function parseByTheBook(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  let event = '';
  let data: string[] = [];
  let isFirstLine = true;
  for (const line of `${text}\n\n`.split(/\r\n|\r|\n/)) {
    if (line === '') {
      if (data.length > 0) events.push({ name: event, data: data.join('\n') });
      event = '';
      data = [];
      isFirstLine = true;
      continue;
    }
    const marked = isFirstLine ? line.replace(/^\ufeff/, '') : line;
    isFirstLine = false;
    const [, field, value = ''] = /^([^:]*)(?::\x20?(.*))?$/s.exec(marked) ?? [];
    if (field === 'data') data.push(value);
    if (field === 'event') event = value;
  }
  return events;
}

function* split(bytes: Buffer, sizes: fc.Stream<number>): Generator<Buffer> {
  let start = 0;
  for (const size of sizes) {
    if (start >= bytes.length) return;
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

function* bytewise(bytes: Buffer): Generator<Buffer> {
  for (let index = 0; index < bytes.length; index++) yield bytes.subarray(index, index + 1);
}
