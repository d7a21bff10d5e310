import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyBuffer } from './body-memory.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

describe('BodyBuffer', () => {
  /** Counts what is taken. */
  function counted() {
    const memory = {
      bytes: 0,
      async take(bytes: number) {
        memory.bytes += bytes;
      },
      [Symbol.dispose]() {
        memory.bytes = 0;
      },
    };
    return memory;
  }

  it('gives back what was added, in order', async () => {
    const added = fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(added, async (pieces) => {
        const whole = Buffer.concat(pieces);
        const memory = counted();
        const list = new BodyBuffer(Math.max(1, whole.length), memory);
        for (const piece of pieces) await list.add(piece);
        expect(Buffer.concat(list.pieces)).toEqual(whole);
        expect(memory.bytes).toBeGreaterThanOrEqual(whole.length);
        expect(memory.bytes).toBeLessThanOrEqual(Math.max(2 * whole.length, 4 * KiB));
      }),
    );
  });

  it('takes memory as bytes arrive', async () => {
    const memory = counted();
    const list = new BodyBuffer(64 * MiB, memory);
    await list.add(Buffer.alloc(1));
    expect(memory.bytes).toBe(4 * KiB);
    for (let bytes = 1; bytes < 3 * MiB; bytes += 64 * KiB) await list.add(Buffer.alloc(64 * KiB));
    expect(memory.bytes).toBeLessThan(4.1 * MiB);
  });

  it('takes no more than the largest body, however it is cut', async () => {
    for (const pieceBytes of [1, 1_000, 65_536]) {
      const memory = counted();
      const list = new BodyBuffer(100_000, memory);
      for (let at = 0; at < 100_000; at += pieceBytes) await list.add(Buffer.alloc(Math.min(pieceBytes, 100_000 - at)));
      expect(memory.bytes).toBe(100_000);
      expect(list.pieces.length).toBeLessThan(12);
    }
  });

  it('gives everything back when it is cleared', async () => {
    const memory = counted();
    const list = new BodyBuffer(100, memory);
    await list.add(Buffer.from('abc'));
    list.clear();
    expect(memory.bytes).toBe(0);
    expect(list.pieces).toEqual([]);
  });
});
