import { ConfigError } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { readIdentityConfig, readIdentityProcessConfig } from './config.ts';

const key = Buffer.alloc(32, 7).toString('base64');

describe('identity settings', () => {
  it('have no keys when embedded without TOKEN_HASH_KEY', () => {
    expect(readIdentityConfig({}).hashKeys).toEqual([]);
    expect(readIdentityConfig({ TOKEN_HASH_KEY: key }).hashKeys).toHaveLength(1);
  });

  it('name every variable that a process needs', () => {
    const problems = problemsOf(() => readIdentityProcessConfig({}));
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['TOKEN_HASH_KEY', 'DATABASE_URL']);
  });

  it('never repeat a key that cannot be used', () => {
    const [problem = ''] = problemsOf(() => readIdentityConfig({ TOKEN_HASH_KEY: 'c2hvcnQta2V5' }));
    expect(problem).toContain('TOKEN_HASH_KEY');
    expect(problem).not.toContain('c2hvcnQta2V5');
  });

  it('take no key that everybody knows, unless they may', () => {
    const env = { TOKEN_HASH_KEY: 'ZGV2ZWxvcG1lbnQtb25seS1kZXZlbG9wbWVudC1vbmw=' };
    expect(problemsOf(() => readIdentityConfig(env))).toEqual([
      expect.stringMatching(/^TOKEN_HASH_KEY is the public one of /),
    ]);
    expect(readIdentityConfig({ ...env, ALLOW_DEVELOPMENT_SECRETS: 'true' }).hashKeys).toHaveLength(1);
  });
});

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
  }
  return [];
}
