import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { split } from './__fixtures__/split.ts';
import { MessageReader } from './message-reader.ts';

describe('a reader of messages', () => {
  it('tells the messages that were written, however they are split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 60 })),
        (messages, cuts) => {
          const read: string[] = [];
          const reader = new MessageReader(100, (message) => read.push(message.toString('hex')));
          const bytes = Buffer.concat(messages.map(prefixed));
          for (const piece of split(bytes, cuts)) reader.read(piece);
          expect(read).toEqual(messages.map((message) => Buffer.from(message).toString('hex')));
          expect(reader.isWithinMessage).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('knows that it is within a message', () => {
    const bytes = prefixed(Buffer.from('message'));
    for (let length = 1; length < bytes.length; length++) {
      const reader = new MessageReader(100, () => undefined);
      reader.read(bytes.subarray(0, length));
      expect(reader.isWithinMessage).toBe(true);
    }
  });

  it('passes on a message that came at once without a copy', () => {
    const bytes = prefixed(Buffer.from('message'));
    let read: Buffer | undefined;
    new MessageReader(100, (message) => {
      read = message;
    }).read(bytes);
    expect([read?.buffer === bytes.buffer, String(read)]).toEqual([true, 'message']);
  });

  it.each([
    ['is compressed', Buffer.from('0100000001', 'hex')],
    ['is longer than it may be', Buffer.from('0000000065', 'hex')],
  ])('refuses a message that %s', (_, bytes) => {
    const reader = new MessageReader(100, () => undefined);
    expect(() => reader.read(bytes)).toThrow(expect.objectContaining({ name: 'ConnectionError' }));
  });
});

function prefixed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
