import { expect, it } from 'vitest';
import { AnswerTurns } from './answer-turns.ts';

it('a large read reaches the reader whole, in many turns of the event loop', async () => {
  const turns = new AnswerTurns();
  const pieces: Uint8Array[] = [];
  let iterations = 0;
  let next = setImmediate(function count() {
    iterations += 1;
    next = setImmediate(count);
  });
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, n) => n % 251));
  const reader = { push: (piece: Uint8Array) => void pieces.push(piece) };
  await turns.push(reader, [bytes.subarray(0, 1_000), bytes.subarray(1_000)]);
  await turns.push(reader, [bytes.subarray(0, 10)]);
  clearImmediate(next);
  expect(Buffer.concat(pieces)).toEqual(Buffer.concat([bytes, bytes.subarray(0, 10)]));
  expect(iterations).toBeGreaterThanOrEqual(10);
});
