import { describe, expect, it } from 'vitest';
import { readUsageQueryConfig, readUsageQueryProcessConfig } from './config.ts';

describe('usage-query settings', () => {
  it('have a default for the wait', () => {
    expect(readUsageQueryConfig({})).toEqual({ waitMs: 1_000 });
    expect(readUsageQueryConfig({ USAGE_WAIT_MILLISECONDS: '0' })).toEqual({ waitMs: 0 });
  });

  it('name the database that a process needs', () => {
    expect(() => readUsageQueryProcessConfig({})).toThrow(/DATABASE_URL/);
  });
});
