import { describe, expect, it } from 'vitest';
import { isRefusedData, withSerializationRetry } from './dialect.ts';

const sqlState = (code: string) => Object.assign(new Error(code), { code });

describe('a transaction', () => {
  it.each(['40P01', '40001'])('is run again when Postgres ended it with %s', async (code) => {
    let runs = 0;
    const result = await withSerializationRetry(async () => {
      runs++;
      if (runs < 3) throw sqlState(code);
      return 'done';
    });
    expect([result, runs]).toEqual(['done', 3]);
  });

  it('is given up after its attempts, and at once for anything else', async () => {
    const runsUntilFailure = async (code: string) => {
      let runs = 0;
      const work = withSerializationRetry(async () => {
        runs++;
        throw sqlState(code);
      }, 2);
      await expect(work).rejects.toThrow(code);
      return runs;
    };
    expect(await runsUntilFailure('40P01')).toBe(2);
    expect(await runsUntilFailure('23505')).toBe(1);
  });
});

describe('a failure', () => {
  it('is about the data when the database says so', () => {
    for (const code of ['22003', '22021', '23505', '23514']) expect(isRefusedData(sqlState(code))).toBe(true);
    expect(isRefusedData(Object.assign(new Error(), { errcode: 1555 }))).toBe(true);
  });

  it('may pass in all other cases', () => {
    for (const code of ['08006', '40P01', '42P01', '53100', '57P01', 'ECONNREFUSED']) {
      expect(isRefusedData(sqlState(code))).toBe(false);
    }
    expect(isRefusedData(Object.assign(new Error(), { errcode: 5 }))).toBe(false);
    expect(isRefusedData(new Error('Query read timeout'))).toBe(false);
    expect(isRefusedData('text')).toBe(false);
  });
});
