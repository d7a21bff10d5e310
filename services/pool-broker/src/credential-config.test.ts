import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type Environment } from '@gateway/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readCredentialConfig, readPoolBrokerConfig, readRequiredKeys } from './config.ts';

const keyOf = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`;

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
  return [];
}

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'account-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'keys'), text);
  return join(folder, 'keys');
}

describe('the configuration of credentials', () => {
  const idsOf = (env: Environment) => readCredentialConfig(env).keys.map(({ id }) => id);

  it('takes keys from the environment or a file, the current one first', () => {
    expect(idsOf({})).toEqual([]);
    expect(idsOf({ ACCOUNT_KEYS: `${keyOf('b')}, ${keyOf('a')}` })).toEqual(['b', 'a']);
    expect(idsOf({ ACCOUNT_KEYS_FILE: fileWith(`${keyOf('b')}\n${keyOf('a')}\n`) })).toEqual(['b', 'a']);
  });

  it.each<[string, Environment, RegExp]>([
    ['a key that is none', { ACCOUNT_KEYS: 'k1:canary' }, /^ACCOUNT_KEYS must contain .* 32 bytes/],
    ['a file that is not there', { ACCOUNT_KEYS_FILE: '/nowhere/keys' }, /^ACCOUNT_KEYS_FILE can't be read: ENOENT/],
    ['both', { ACCOUNT_KEYS: keyOf('a'), ACCOUNT_KEYS_FILE: '/nowhere/keys' }, /both set/],
  ])('refuses %s, and repeats no key', (_what, env, message) => {
    const problems = problemsOf(() => readCredentialConfig(env));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
    expect(problems[0]).not.toContain('canary');
  });

  it('says how to make a key where one is needed', () => {
    expect(problemsOf(() => readRequiredKeys({}))).toEqual([expect.stringMatching(/ACCOUNT_KEYS=k1:\$\(openssl/)]);
  });

  it('is reported on together with everything else of the broker', () => {
    const env = { ACCOUNT_KEYS: 'k1:canary', DATABASE_URL: 'mysql://x' };
    expect(problemsOf(() => readPoolBrokerConfig(env)).map((problem) => problem.split(/[ :]/, 1)[0])).toEqual([
      'REDIS_URL',
      'DATABASE_URL',
      'ACCOUNT_KEYS',
    ]);
  });

  it('lets a broker with a database start without accounts: they may come', () => {
    const env = { REDIS_URL: 'redis://r', DATABASE_URL: 'postgres://p/gateway' };
    expect(readPoolBrokerConfig(env).gateway.accounts).toEqual([]);
    expect(problemsOf(() => readPoolBrokerConfig({ REDIS_URL: 'redis://r' }))).toEqual([
      expect.stringMatching(/gatewayctl account add/),
    ]);
  });
});
