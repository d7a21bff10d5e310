import { StreamPiece } from '@gateway/sse';
import { describe, expect, it } from 'vitest';
import { RawEvent } from './raw-event.ts';

describe('RawEvent', () => {
  it.each([
    ['the type that comes first', 'event: b\ndata: {"type":"a.x","n":1}\n\n', 'a.x'],
    ['a type behind spaces', 'data:   { "type" : "a" }  \r\n\r\n', 'a'],
    ['a type that comes later', 'event: b\ndata: {"n":{"type":"c"},"type":"a"}\n\n', 'a'],
    ['a type in escapes', 'data: {"type":"\\u0061"}\n\n', 'a'],
    ['a type on another line', 'data: {\ndata:\ndata: "type":"a"}\n\n', 'a'],
    ['a type after a byte order mark', '\ufeffdata: {"type":"a"}\n\n', 'a'],
    ['a type of JSON that is cut off', 'data: {"type":"a","n', 'a'],
    ['the name, without a type', 'event: b\ndata: {"n":1}\n\n', 'b'],
    ['that there is no type', 'data: {"type":1}\n\n', 'message'],
    ['an error by its member', 'data: {"error":{"code":"x"}}\n\n', 'error'],
    ['nothing, without JSON', 'event: a\ndata: {"typ\n\n', undefined],
    ['nothing, without an object', 'event: a\ndata: 1\n\n', undefined],
  ])('tells %s', (_what, text, type) => {
    expect(eventOf(text).type).toBe(type);
  });

  it('joins the lines of its data, and knows where each byte stands', () => {
    const event = eventOf('id: 1\ndata: ab\r\n: comment\rdata\ndatum: x\ndata:c\n\n');
    expect(event.text).toBe('ab\n\nc');
    const placeOf = (offset: number) => String.fromCharCode(event.bytes[event.positionOf(offset)] ?? 0);
    expect([placeOf(0), placeOf(1), placeOf(4)]).toEqual(['a', 'b', 'c']);
    expect(() => event.positionOf(6)).toThrow(RangeError);
  });

  it('has no data in comments and names', () => {
    expect(eventOf(': data: x\nevent: ping\n\n')).toMatchObject({ text: '', name: 'ping' });
  });
});

function eventOf(text: string): RawEvent {
  return new RawEvent(new StreamPiece(Buffer.from(text)));
}
