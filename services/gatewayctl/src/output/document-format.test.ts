import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatOf } from './document-format.ts';

describe('a document for programs', () => {
  it.each(['json', 'yaml'] as const)(
    'has every text in %s as it is, and nothing that a person would not see',
    async (output) => {
      const format = await formatOf(output);
      const text = fc.string({ unit: 'binary', maxLength: 200 }).filter((text) => text.isWellFormed());
      fc.assert(
        fc.property(text, text, (name, value) => {
          const document = format.document({ [`k${name}`]: value, list: [value, 'plain'] });
          expect(parse(document)).toEqual({ [`k${name}`]: value, list: [value, 'plain'] });
          expect(document.replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        }),
      );
    },
  );
});
