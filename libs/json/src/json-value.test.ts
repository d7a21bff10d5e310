import { describe, expect, it } from 'vitest';
import { toWellFormedJson } from './json-value.ts';

describe('a well-formed JSON text', () => {
  it('has no half characters, however deep they stand', () => {
    expect(toWellFormedJson({ text: 'cut \ud83d', parts: ['\udc00 tail'] })).toBe(
      '{"text":"cut \ufffd","parts":["\ufffd tail"]}',
    );
  });

  it('has none in its keys either', () => {
    expect(toWellFormedJson({ a: [{ 'half \ud83d': 1, whole: 2 }] })).toBe('{"a":[{"half \ufffd":1,"whole":2}]}');
  });

  it('keeps whole characters, and texts that spell an escape', () => {
    const value = { text: '🌍', spelt: '\\ud83d' };
    expect(JSON.parse(toWellFormedJson(value))).toEqual(value);
  });
});
