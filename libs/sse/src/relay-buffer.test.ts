import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RelayBuffer } from './relay-buffer.ts';
import { StreamPiece } from './stream-piece.ts';

const read = new StreamPiece(Buffer.from('one\n\ntwo\n\nthree\n\n'));

describe('a relay buffer', () => {
  it('gives the events of one read as they came, without a copy', () => {
    const buffer = new RelayBuffer();
    buffer.hold(read, 0, 5);
    buffer.release(read, 5, 10);
    buffer.release(read, 10, 17);
    expect(buffer.take()).toBe(read.bytes);
    expect(buffer.take()).toHaveLength(0);
  });

  it('gives part of a read as a view of it', () => {
    const buffer = new RelayBuffer();
    buffer.release(read, 5, 10);
    const taken = buffer.take();
    expect(taken.toString()).toBe('two\n\n');
    expect(taken.buffer).toBe(read.bytes.buffer);
  });

  it('keeps all bytes in order, whatever is held, released and taken when', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('hold', 'release', 'made', 'new read', 'take'), fc.nat(3)));
    fc.assert(
      fc.property(steps, (chosen) => {
        const buffer = new RelayBuffer();
        let piece = read;
        let [at, expected, held, taken] = [0, '', '', ''];
        for (const [step, length] of chosen) {
          const end = Math.min(at + length, piece.bytes.length);
          const text = step === 'made' ? 'made' : piece.bytes.toString('latin1', at, end);
          if (step === 'hold') buffer.hold(piece, at, end);
          if (step === 'release') buffer.release(piece, at, end);
          if (step === 'made') buffer.releaseMade(Buffer.from(text));
          if (step === 'take') taken += buffer.take().toString('latin1');
          if (step === 'hold') held += text;
          if (step === 'release' || step === 'made') [expected, held] = [expected + held + text, ''];
          if (step === 'hold' || step === 'release') at = end;
          if (step === 'new read') [piece, at] = [new StreamPiece(Buffer.from('next\n\n')), 0];
        }
        expect(Buffer.concat([...buffer.held]).toString('latin1')).toBe(held);
        expect(taken + buffer.take().toString('latin1')).toBe(expected);
      }),
    );
  });
});
