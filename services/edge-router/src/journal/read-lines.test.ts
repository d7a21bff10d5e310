import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LineDamage, readLines } from './read-lines.ts';

describe('readLines', () => {
  let path: string;
  beforeAll(async () => {
    path = join(await mkdtemp(join(tmpdir(), 'lines-')), 'file');
  });
  afterAll(() => rm(join(path, '..'), { recursive: true }));

  const read = async (text: string | Buffer, fromByte = 0) => {
    await writeFile(path, text);
    const lines: string[] = [];
    const damage: LineDamage[] = [];
    for await (const piece of readLines(path, fromByte, (found) => damage.push(found))) lines.push(...piece);
    return { lines, damage };
  };

  it('gives every whole line of a file of any size, from any line on', async () => {
    const line = fc
      .tuple(fc.string({ unit: 'binary' }), fc.constantFrom(0, 10, 65_530, 65_536, 200_000))
      .map(([text, length]) => text.replaceAll('\n', '') + 'é'.repeat(length / 2));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.nat(8), fc.boolean(), async (lines, skipped, torn) => {
        const whole = lines.map((text) => `${Buffer.from(text).toString()}\n`);
        const fromByte = Buffer.byteLength(whole.slice(0, skipped).join(''));
        const { lines: found, damage } = await read(whole.join('') + (torn ? 'torn' : ''), fromByte);
        expect(found.map((text) => `${text}\n`).join('')).toBe(whole.slice(skipped).join(''));
        expect(damage).toEqual(torn ? ['torn'] : []);
      }),
      { numRuns: 50 },
    );
  });

  it('goes on after something that is much longer than a line', async () => {
    const tooLong = 'x'.repeat(2_500_000);
    const { lines, damage } = await read(`a\n${tooLong}\nb\n`);
    expect(lines).toEqual(['a', 'b']);
    expect(damage).toEqual(['overlong']);
  });
});
