import { describe, expect, it } from 'vitest';
import { EnvReader, readDrainTimeoutSeconds, readMaxStreamSeconds } from './env-reader.ts';

describe('readDrainTimeoutSeconds', () => {
  it.each([
    [{}, 3_600],
    [{ MAX_STREAM_SECONDS: '900' }, 900],
    [{ MAX_STREAM_SECONDS: '900', DRAIN_TIMEOUT_SECONDS: '10' }, 10],
  ])('of %j is %i: a drain waits for the longest stream', (env, seconds) => {
    expect(readDrainTimeoutSeconds(new EnvReader(env))).toBe(seconds);
  });
});

describe('readMaxStreamSeconds', () => {
  it('takes nothing that would let no stream live, or one for days', () => {
    for (const seconds of ['0', '86401']) {
      const reader = new EnvReader({ MAX_STREAM_SECONDS: seconds });
      readMaxStreamSeconds(reader);
      expect(() => reader.done()).toThrow('MAX_STREAM_SECONDS must be a whole number from 1 to 86400');
    }
  });
});
