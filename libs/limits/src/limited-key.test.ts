import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyNamed, type LimitedKey, nameOf } from './limited-key.ts';

const prefixes = ['\u00002:ab', 'a\u00002:bc'];
const text = fc.oneof(fc.string(), fc.constantFrom('', '\0', '1:', ...prefixes, 'key', 'more than ten letters'));

describe('the name of a key', () => {
  it('belongs to it alone, in its group or without one', () => {
    // A key without a group is one that a caller chose: no NUL begins it.
    const own = text.filter((key) => !key.startsWith('\0'));
    const keys = fc.oneof(fc.record({ key: own }), fc.record({ key: text, groupKey: text }));
    fc.assert(
      fc.property(keys, (key: LimitedKey) => {
        expect(keyNamed(nameOf(key))).toEqual(key);
      }),
    );
  });
});
