import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonElements } from './json-body.ts';

const textsOf = (array: string) => jsonElements(Buffer.from(array)).map(String);

describe('the elements of an array', () => {
  it('are found by their bytes, without the space around them', () => {
    expect(textsOf('[ 1 , "a,]\\"" ,{"b":[2, 3]},\n[ ] , null]')).toEqual([
      '1',
      '"a,]\\""',
      '{"b":[2, 3]}',
      '[ ]',
      'null',
    ]);
    expect(textsOf(' [true] ')).toEqual(['true']);
    expect(textsOf('[]')).toEqual([]);
    expect(textsOf('[ ]')).toEqual([]);
  });

  it('are those that JSON.parse finds, of any array', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.constantFrom(undefined, 1, '\t'), (values, indent) => {
        const texts = textsOf(JSON.stringify(values, undefined, indent));
        expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });
});
