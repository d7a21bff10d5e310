import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SseEvent } from './sse-event.ts';
import { SseOverflowError, SseParser } from './sse-parser.ts';
import { sseComment, sseData, sseEvent } from './sse-writer.ts';

function parse(pieces: Iterable<Uint8Array>, maxEventBytes?: number): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = new SseParser({
    ...(maxEventBytes === undefined ? {} : { maxEventBytes }),
    onEvent: (event) => events.push(event),
  });
  for (const piece of pieces) parser.push(piece);
  parser.end();
  return events;
}

const parseText = (text: string) => parse([Buffer.from(text)]);
const message = (data: string): SseEvent => ({ event: 'message', data });

describe('SseParser', () => {
  it('reads named and unnamed events', () => {
    expect(parseText('event: ping\ndata: {"a":1}\n\ndata: [DONE]\n\n')).toEqual([
      { event: 'ping', data: '{"a":1}' },
      message('[DONE]'),
    ]);
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('takes lines that end in %s', (_name, end) => {
    const text = ['event: a', 'data: 1', 'data: 2', '', ': comment', 'data: 3', '', ''].join(end);
    expect(parseText(text)).toEqual([{ event: 'a', data: '1\n2' }, message('3')]);
  });

  it('takes data without a space, keeps spaces that belong to the data, and joins several lines', () => {
    expect(parseText('data:a\ndata:  b\ndata\ndata: {"c":1}   \n\n')).toEqual([message('a\n b\n\n{"c":1}   ')]);
  });

  it('skips a byte order mark at the start only', () => {
    expect(parseText('\ufeffdata: a\n\ndata: \ufeffb\n\n')).toEqual([message('a'), message('\ufeffb')]);
    expect(parseText('\n\n\ufeffdata: a\n\n')).toEqual([]);
  });

  it('gives no event for comments, unknown fields, or a name without data', () => {
    expect(parseText(`${sseComment('hello')}id: 1\nretry: 5\ndatum: x\n\nevent: ping\n\n\n\n`)).toEqual([]);
  });

  it('gives the event that the stream ends in', () => {
    expect(parseText('data: a\n\ndata: b')).toEqual([message('a'), message('b')]);
    expect(parseText('data: a\r')).toEqual([message('a')]);
  });

  it('reads what the writers write', () => {
    expect(parseText(sseData('{}') + sseEvent('done', '[1]'))).toEqual([message('{}'), { event: 'done', data: '[1]' }]);
  });

  it('refuses an event over the limit, in one piece or many, ended or not', () => {
    const large = Buffer.from(`data: ${'x'.repeat(100)}\n\n`);
    expect(() => parse([large], 64)).toThrow(SseOverflowError);
    expect(() => parse(bytewise(large), 64)).toThrow(SseOverflowError);
    expect(parse([Buffer.concat([large, large, large])], 110)).toHaveLength(3);
  });

  it('lets its caller reuse a buffer', () => {
    const events: SseEvent[] = [];
    const parser = new SseParser({ onEvent: (event) => events.push(event) });
    const buffer = Buffer.from('data: abc');
    parser.push(buffer);
    buffer.fill(0);
    parser.push(Buffer.from('\n\n'));
    expect(events).toEqual([message('abc')]);
  });

  it('gives the same events however the bytes are split', () => {
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
    { maxLength: 30 },
  )
  .map((pieces) => pieces.join(''));

/** The algorithm of the HTML standard, line by line, with the unfinished last event given. */
function parseByTheBook(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  let event = '';
  let data: string[] = [];
  for (const line of `${text.replace(/^\ufeff/, '')}\n\n`.split(/\r\n|\r|\n/)) {
    if (line === '') {
      if (data.length > 0) events.push({ event: event || 'message', data: data.join('\n') });
      event = '';
      data = [];
      continue;
    }
    const [, field, value = ''] = /^([^:]*)(?::\x20?(.*))?$/s.exec(line) ?? [];
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
