import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyMemory } from './body-memory.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

describe('the allocation of a body', () => {
  const client = new AbortController().signal;
  const open = () =>
    new BodyMemory({ limitBytes: 1_024 * MiB, largestBodyBytes: 64 * MiB, waitMs: 1 }).open('t', client);

  it('gives back what was added, in order', async () => {
    const added = fc.array(fc.uint8Array({ maxLength: 9_000, size: 'max' }), { maxLength: 20, size: 'max' });
    await fc.assert(
      fc.asyncProperty(added, async (pieces) => {
        const whole = Buffer.concat(pieces);
        const body = open();
        for (const piece of pieces) await body.add(piece, Math.max(1, whole.length));
        expect(Buffer.concat(body.pieces)).toEqual(whole);
        expect(body.bytes).toBeGreaterThanOrEqual(whole.length);
        expect(body.bytes).toBeLessThanOrEqual(Math.max(2 * whole.length, 4 * KiB));
      }),
    );
  });

  it('takes memory as bytes arrive', async () => {
    const body = open();
    await body.add(Buffer.alloc(1), 64 * MiB);
    expect(body.bytes).toBe(4 * KiB);
    for (let bytes = 1; bytes < 3 * MiB; bytes += 64 * KiB) await body.add(Buffer.alloc(64 * KiB), 64 * MiB);
    expect(body.bytes).toBeLessThan(4.1 * MiB);
  });

  it('takes no more than the largest body, however it is cut', async () => {
    for (const pieceBytes of [1, 1_000, 65_536]) {
      const body = open();
      for (let at = 0; at < 100_000; at += pieceBytes)
        await body.add(Buffer.alloc(Math.min(pieceBytes, 100_000 - at)), 100_000);
      expect(body.bytes).toBe(100_000);
      expect(body.pieces.length).toBeLessThan(12);
    }
  });

  it('gives everything back when it is disposed of', async () => {
    const body = open();
    await body.add(Buffer.from('abc'), 100);
    body[Symbol.dispose]();
    expect(body.bytes).toBe(0);
    expect(body.pieces).toEqual([]);
  });
});
