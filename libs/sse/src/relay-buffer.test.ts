import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RelayBuffer } from './relay-buffer.ts';

describe('a relay buffer', () => {
  it('gives a single event as it came, without a copy', () => {
    const buffer = new RelayBuffer();
    const event = Buffer.from('data: 1\n\n');
    buffer.release(event);
    expect(buffer.take()).toBe(event);
    expect(buffer.take()).toHaveLength(0);
  });

  it('keeps all bytes in order, whatever is held, released and taken when', () => {
    const step = fc.constantFrom('hold', 'release', 'release held', 'take');
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.string())), (steps) => {
        const buffer = new RelayBuffer();
        let [expected, held, taken] = ['', '', ''];
        for (const [what, text] of steps) {
          if (what === 'hold') buffer.hold(Buffer.from(text));
          if (what === 'release') buffer.release(Buffer.from(text));
          if (what === 'release held') buffer.releaseHeld();
          if (what === 'take') taken += buffer.take().toString();
          if (what === 'hold') held += text;
          if (what === 'release') [expected, held] = [expected + held + text, ''];
          if (what === 'release held') [expected, held] = [expected + held, ''];
        }
        expect(Buffer.concat(buffer.held).toString()).toBe(held);
        expect(taken + buffer.take().toString()).toBe(expected);
      }),
    );
  });
});
