import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valuesOf } from './raw-headers.ts';

describe('the values of a header', () => {
  it('are those that were sent under its name, in any case, in order', () => {
    const raw = ['Host', 'a', 'X-Api-Key', 'one', 'x-api-keys', 'no', 'x-API-key', 'two'];
    expect(valuesOf(raw, 'x-api-key')).toEqual(['one', 'two']);
    expect(valuesOf(raw, 'authorization')).toEqual([]);
  });

  it('are found whatever else was sent', () => {
    const name = fc.constantFrom('host', 'Host', 'AUTHORIZATION', 'authorization', 'x-a', 'X-B');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string())), (sent) => {
        for (const each of ['host', 'authorization', 'x-a', 'x-b']) {
          const expected = sent.filter(([key]) => key.toLowerCase() === each).map(([, value]) => value);
          expect(valuesOf(sent.flat(), each)).toEqual(expected);
        }
      }),
    );
  });
});
