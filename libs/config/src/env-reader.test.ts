import { describe, expect, it } from 'vitest';
import { ConfigError, EnvReader } from './env-reader.ts';

describe('EnvReader', () => {
  it('gives the default for what is absent or empty', () => {
    const env = new EnvReader({ EMPTY: ' ' });
    expect(env.integer('PORT', 8080)).toBe(8080);
    expect(env.string('EMPTY', 'x')).toBe('x');
    expect(env.boolean('FLAG', true)).toBe(true);
    expect(() => env.done()).not.toThrow();
  });

  it('reports every problem at once, by the name of the setting', () => {
    const env = new EnvReader({ PORT: '99999', FLAG: 'perhaps', REDIS_URL: 'http://host', MODE: 'c' });
    env.port('PORT', 1);
    env.boolean('FLAG', false);
    env.requiredUrls('REDIS_URL', '', 'redis://127.0.0.1:6379', ['redis', 'rediss']);
    env.required('DATABASE_URL', 'The database stores tokens.', 'postgres://127.0.0.1/gateway');
    env.oneOf('MODE', ['a', 'b'], 'a');
    const error = catchError(() => env.done());
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).problems.map((problem) => problem.split(' ')[0])).toEqual([
      'PORT',
      'FLAG',
      'REDIS_URL',
      'DATABASE_URL',
      'MODE',
    ]);
  });

  it('takes several URLs, and says which of them is none', () => {
    const env = new EnvReader({
      ONE: 'nats://a:1',
      TWO: ' nats://a:1/ ,tls://b ',
      BAD: 'nats://a,b:2,nats://c,http://d',
    });
    expect(env.requiredUrls('ONE', '', 'nats://a', ['nats', 'tls'])).toEqual(['nats://a:1']);
    expect(env.optionalUrls('TWO', 'nats://a', ['nats', 'tls'])).toEqual(['nats://a:1', 'tls://b']);
    expect(env.optionalUrls('NONE', 'nats://a', ['nats', 'tls'])).toBeUndefined();
    expect(() => env.done()).not.toThrow();
    env.requiredUrls('BAD', '', 'nats://a', ['nats', 'tls']);
    expect(() => env.done()).toThrow(/^BAD has no URL at position 2, 4/);
  });

  it('never repeats a URL, which may hold a password', () => {
    const env = new EnvReader({ DATABASE_URL: 'mysql://user:hunter2@host', NATS_URL: 'nats://a,user:hunter2@b' });
    env.requiredUrls('DATABASE_URL', '', 'postgres://127.0.0.1/gateway', ['postgres']);
    env.requiredUrls('NATS_URL', '', 'nats://a', ['nats']);
    expect(String(catchError(() => env.done()))).not.toContain('hunter2');
  });
});

function catchError(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
