import { describe, expect, it } from 'vitest';
import { readModelList } from './format-definition.ts';

describe('readModelList', () => {
  it('gives ids and names, each model once', () => {
    const data = [
      { type: 'model', id: 'claude-sonnet-5', display_name: 'Claude Sonnet 5', created_at: '2026-08-01T00:00:00Z' },
      { type: 'model', id: 'claude-new' },
      { type: 'model', id: 'claude-new' },
      { type: 'model' },
      null,
    ];
    const models = readModelList({ data, has_more: false });
    expect(models.map(({ id, displayName }) => [id, displayName])).toEqual([
      ['claude-sonnet-5', 'Claude Sonnet 5'],
      ['claude-new', ''],
    ]);
  });

  it.each([undefined, null, [], {}, { data: {} }, 'x'])('refuses %j', (body) => {
    expect(() => readModelList(body)).toThrow(expect.objectContaining({ code: 'providers_unavailable' }));
  });
});
