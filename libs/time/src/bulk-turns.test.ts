import { expect, it } from 'vitest';
import { BulkTurns } from './bulk-turns.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

it('lets a small body pass without any turn', () => {
  const turns = new BulkTurns();
  expect(turns.spend(100 * KiB)).toBeUndefined();
  expect(turns.spend(100 * KiB)).toBeUndefined();
});

it('has every body wait for the next turn of the event loop after its share of one', async () => {
  const turns = new BulkTurns();
  let others = 0;
  setImmediate(() => (others += 1));
  expect(turns.spend(255 * KiB)).toBeUndefined();
  await turns.spend(2 * KiB);
  expect(others).toBe(1);
});

it('gives large bodies one turn at a time, the same for each, and the event loop to others between any two', async () => {
  const log: string[] = [];
  let others = setImmediate(function tick() {
    log.push('-');
    others = setImmediate(tick);
  });
  const handle = async (name: string) => {
    const turns = new BulkTurns();
    // So much is not worth a rest.
    await turns.spend(2 * MiB);
    for (let megabytes = 0; megabytes < 6; megabytes++) {
      await turns.spend(MiB);
      log.push(name);
    }
  };
  await Promise.all([handle('a'), handle('b')]);
  clearImmediate(others);
  expect(log.filter((entry) => entry !== '-').join('')).toBe('abababababab');
  expect(log.join('')).not.toMatch(/[ab]{2}/);
});
