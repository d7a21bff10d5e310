import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type Environment } from '@gateway/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readPoolBrokerConfig } from './config.ts';

function problemsOf(env: Environment): readonly string[] {
  try {
    readPoolBrokerConfig(env);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
  return [];
}

describe("a stand-alone broker's configuration", () => {
  it('takes accounts from provider keys', () => {
    const config = readPoolBrokerConfig({ REDIS_URL: 'redis://r', OPENAI_API_KEY: 'k' });
    expect(config.gateway.accounts.map(({ pool }) => pool)).toEqual(['responses']);
  });

  it('says what to set when there is no account and no Redis', () => {
    const [redis, account, ...others] = problemsOf({});
    expect(redis).toMatch(/^REDIS_URL is not set/);
    expect(account).toMatch(/Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or list accounts .* GATEWAY_CONFIG/);
    expect(others).toEqual([]);
  });

  it('reports the problems of gateway.yaml together with its own', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pool-broker-config-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, 'pools: { p: { format: soap, owned_by: x, base_url: "http://x" } }\ncolour: red');
    expect(problemsOf({ GATEWAY_CONFIG: path }).map((problem) => problem.split(/[ :]/, 1)[0])).toEqual([
      'REDIS_URL',
      'pools.p.format',
      'colour',
    ]);
  });
});
