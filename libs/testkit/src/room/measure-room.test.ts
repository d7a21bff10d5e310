import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { measureRoom, roomOf } from './measure-room.ts';

/** The time that five pieces take on two idle cores. */
const usualMs = 560;

describe('the room of a machine', () => {
  it.each([
    ['two cores', { pieces: 5, tookMs: usualMs }, { slowness: 1, workers: 5 }],
    [
      'two cores of half the speed, or with half their time',
      { pieces: 5, tookMs: 2 * usualMs },
      { slowness: 2, workers: 3 },
    ],
    ['one core', { pieces: 4, tookMs: 1.6 * usualMs }, { slowness: 2, workers: 3 }],
    ['eight cores', { pieces: 11, tookMs: 0.6 * usualMs }, { slowness: 1, workers: 11 }],
    ['one that hardly gets on', { pieces: 5, tookMs: 100 * usualMs }, { slowness: 10, workers: 2 }],
  ])('of %s', (_what, measured, room) => {
    expect(roomOf(measured)).toEqual(room);
  });

  it('is measured, and is never less than usual', async () => {
    const { slowness, workers } = await measureRoom();
    expect(slowness).toBeGreaterThanOrEqual(1);
    expect(workers).toBeGreaterThanOrEqual(2);
    expect(workers).toBeLessThanOrEqual(availableParallelism() + 3);
  });
});
