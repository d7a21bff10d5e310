import { describe, expect, it } from 'vitest';
import { readModelList } from './format-definition.ts';

describe('readModelList', () => {
  it('lists each model that can hold a conversation once, in order', () => {
    const ids = [
      'gpt-6',
      'gpt-5.5-mini',
      'text-embedding-3-small',
      'whisper-1',
      'gpt-image-2',
      'gpt-realtime',
      'gpt-6',
      '',
    ];
    const body = { object: 'list', data: [...ids.map((id) => ({ id, object: 'model' })), { object: 'model' }, null] };
    expect(readModelList(body).map((model) => model.id)).toEqual(['gpt-6', 'gpt-5.5-mini']);
  });

  it.each([null, 'models', {}, { data: {} }, []])('refuses %j', (body) => {
    expect(() => readModelList(body)).toThrow(expect.objectContaining({ code: 'providers_unavailable' }));
  });
});
