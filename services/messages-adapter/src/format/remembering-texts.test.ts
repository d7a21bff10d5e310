import { describe, expect, it } from 'vitest';
import { rememberingTexts } from './remembering-texts.ts';

function counting() {
  const readings: string[] = [];
  const read = rememberingTexts((text) => {
    readings.push(text);
    return { text };
  });
  return { read, readings };
}

describe('a reader that remembers', () => {
  it('reads a short text once', () => {
    const { read, readings } = counting();
    expect([read('a'), read('b'), read('a')]).toEqual([{ text: 'a' }, { text: 'b' }, { text: 'a' }]);
    expect(readings).toEqual(['a', 'b']);
  });

  it('keeps no long texts', () => {
    const { read, readings } = counting();
    const long = 'x'.repeat(1_000);
    expect([read(long), read(long)]).toEqual([{ text: long }, { text: long }]);
    expect(readings).toHaveLength(2);
  });

  it('keeps few, and is right about all of them', () => {
    const { read, readings } = counting();
    for (let n = 0; n < 10_000; n++) expect(read(`${n}`)).toEqual({ text: `${n}` });
    read('0');
    expect(readings).toHaveLength(10_001);
  });
});
