import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { pauseReason } from './pool-pause-text.ts';

const { OVERLOADED, NETWORK_ERROR, SERVER_ERROR, TIMEOUT, RATE_LIMITED, UNAUTHORIZED, CANCELLED } = AttemptResult;

describe('why a pool pauses', () => {
  it('is said in plain words', () => {
    const reasons = [
      ...[OVERLOADED, NETWORK_ERROR].map((reason) => pauseReason({ reason, wholePool: true, model: '' })),
      ...[RATE_LIMITED, UNAUTHORIZED, SERVER_ERROR, TIMEOUT].map((reason) =>
        pauseReason({ reason, wholePool: false, model: '' }),
      ),
    ];
    expect(reasons).toEqual([
      'the provider is overloaded',
      'the provider is unreachable',
      'no account is available (rate limited by the provider)',
      'no account is available (rejected by the provider)',
      'no account is available (too many server errors in a row)',
      'no account is available (too many timeouts in a row)',
    ]);
  });

  it('names the model that it is confined to', () => {
    expect(pauseReason({ reason: OVERLOADED, wholePool: true, model: 'gpt-5.5' })).toBe(
      'the provider is overloaded for gpt-5.5',
    );
  });

  it('is said of what only a newer gateway knows', () => {
    expect(pauseReason({ reason: CANCELLED, wholePool: true, model: '' })).toBe('the provider is failing');
    expect(pauseReason({ reason: CANCELLED, wholePool: false, model: '' })).toMatch(/\(cooling\)$/);
  });
});
