import { describe, expect, it } from 'vitest';
import { readAccount } from './account-input.ts';

const given = { pool: 'responses', name: 'team-b', credential: { bearer: 'sk-canary' } };
const problemsOf = (more: object) => {
  const read = readAccount({ ...given, ...more });
  return 'problems' in read ? read.problems : {};
};

describe('an account that an operator gives', () => {
  it('is read as one of the file', () => {
    const read = readAccount({ ...given, models: ['gpt-*'], max_concurrency: 3 });
    expect(read).toMatchObject({ account: { pool: 'responses', name: 'team-b', state: 'active', maxConcurrency: 3 } });
    expect(problemsOf({})).toEqual({});
  });

  it('is refused with every problem at its place, and no secret among them', () => {
    const oauth = { token_url: 'http://elsewhere.example', client_id: '', refresh_token: 'rt canary' };
    const problems = problemsOf({ name: 'two words', max_concurrency: 0, models: [], credential: { oauth } });
    expect(Object.keys(problems).toSorted()).toEqual([
      'credential.oauth.client_id',
      'credential.oauth.refresh_token',
      'credential.oauth.token_url',
      'max_concurrency',
      'models',
      'name',
    ]);
    expect(JSON.stringify(problems)).not.toContain('canary');
    expect(problemsOf({ credential: { bearer: 'sk canary' } })).toEqual({
      'credential.bearer': expect.stringMatching(/^must be visible/),
    });
    expect(Object.keys(problemsOf({ credential: undefined }))).toEqual(['credential']);
    expect(Object.keys(problemsOf({ credential: { api_key: '' } }))).toEqual(['credential.api_key']);
  });
});
