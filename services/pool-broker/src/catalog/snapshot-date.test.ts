import { describe, expect, it } from 'vitest';
import { splitSnapshotDate } from './list-models.ts';

describe('the snapshot date of a model id', () => {
  it.each([
    ['claude-haiku-4-5-20251001', 'claude-haiku-4-5', '2025-10-01'],
    ['gpt-5.5-mini-2026-04-23', 'gpt-5.5-mini', '2026-04-23'],
    ['a-20991231', 'a', '2099-12-31'],
    ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet', '2024-10-22'],
    ['twice-20250101-20260202', 'twice-20250101', '2026-02-02'],
  ])('of %s is split off', (id, undated, date) => {
    expect(splitSnapshotDate(id)).toEqual({ undated, date });
  });

  it.each([
    'gpt-5.5',
    'gpt-4-0613',
    'claude-x-20251345',
    'claude-x-20250100',
    'claude-x-20250132',
    'claude-x-2025-1001',
    'claude-x-202510-01',
    'claude-x-19991231',
    'claude-x-20251001-latest',
    'claude-x20251001',
    '20251001',
    '-20251001',
    '',
  ])('is not seen in %s', (id) => {
    expect(splitSnapshotDate(id)).toEqual({ undated: id, date: undefined });
  });
});
