import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AttemptResult, SkippedAccountsSchema } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  NoAccountCause,
  NoAccountSchema,
  RecordedAttemptSchema,
  RequestEnding,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import {
  answererOf,
  attemptResultText,
  hasFailedOver,
  noAccountText,
  noModelText,
  noUsageText,
  skippedTexts,
  verdictText,
  type Wording,
} from './request-text.ts';

const wording: Wording = {
  moment: (atMs) => new Date(atMs).toISOString().slice(11, 16),
  duration: (ms) => `${ms} ms`,
};
const at = (time: string) => Date.parse(`2026-11-22T${time}:00Z`);
const { FAILED, REFUSED, ABORTED, COMPLETED } = RequestEnding;
const verdict = (init: MessageInitShape<typeof RequestRecordedSchema>) =>
  verdictText(create(RequestRecordedSchema, init), wording);

const unauthorized = { accountId: 'responses/team-a', result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401 };
const unreachable = {
  accountId: 'messages/team-a',
  result: AttemptResult.NETWORK_ERROR,
  cause: 'connection refused by 127.0.0.1:9',
};
const skippedOf = (names: string[], reason: string) => {
  return { pool: 'responses', model: 'm', count: names.length, names, reason };
};

describe('the verdict on a request', () => {
  it('names the limit that refused it, and until when', () => {
    const refusal = { limit: LimitName.TOKENS_PER_DAY, retryAtMs: at('23:00') };
    expect(verdict({ ending: REFUSED, status: 429, errorCode: 'rate_limit_exceeded', refusal })).toBe(
      'The token reached its limit of tokens per day. Retry at 23:00 or later.',
    );
  });

  it('names one zone: Amsterdam only if no time of another zone follows', () => {
    expect(verdict({ ending: REFUSED, status: 429, refusal: { limit: LimitName.TOKENS_PER_DAY } })).toBe(
      'The token reached its limit of tokens per day. The limit resets at midnight in Amsterdam.',
    );
  });

  it('says why no account served it', () => {
    const noAccount = { cause: NoAccountCause.EXHAUSTED, retryAtMs: at('12:30') };
    expect(verdict({ ending: FAILED, noAccount })).toBe(
      'No account served it: all eligible accounts are rate limited, the first until 12:30.',
    );
    const reason = 'all eligible accounts are at their maximum of concurrent requests';
    expect(verdict({ ending: FAILED, noAccount: { cause: NoAccountCause.EXHAUSTED, reason } })).toBe(
      `No account served it: ${reason}.`,
    );
    const away = { cause: NoAccountCause.BROKER_AWAY, asked: 1, answered: 1001 };
    expect(verdict({ ending: FAILED, attempts: [{}], noAccount: away })).toBe(
      'No other account served it: the pool broker did not answer within 1000 ms.',
    );
    const skipped = [skippedOf(['team-a'], 'draining')];
    expect(verdict({ ending: FAILED, noAccount: { cause: NoAccountCause.UNAVAILABLE, skipped } })).toBe(
      'No account served it: 1 of responses for m (team-a): draining.',
    );
    expect(verdict({ ending: FAILED, noAccount: { cause: NoAccountCause.UNAVAILABLE } })).toBe(
      'No account served it: no eligible account is available, for reasons other than limits.',
    );
  });

  it('names each account that failed with its cause, and those that were skipped', () => {
    const noAccount = { cause: NoAccountCause.UNAVAILABLE, skipped: [skippedOf(['team-a'], 'cooling')] };
    expect(verdict({ ending: FAILED, attempts: [unauthorized, unreachable], noAccount })).toBe(
      'responses/team-a: 401 from the provider; messages/team-a: connection refused by 127.0.0.1:9. ' +
        'No other account was available.',
    );
    const others = { ...noAccount, skipped: [skippedOf(['team-a', 'team-b'], 'cooling')] };
    expect(verdict({ ending: FAILED, attempts: [unauthorized], noAccount: others })).toBe(
      'responses/team-a: 401 from the provider. No other account served it: 1 of responses for m (team-b): cooling.',
    );
    const exhausted = { cause: NoAccountCause.EXHAUSTED, retryAtMs: at('12:30') };
    const limited = { accountId: 'responses/team-b', result: AttemptResult.RATE_LIMITED, upstreamStatus: 429 };
    expect(verdict({ ending: FAILED, attempts: [limited], noAccount: exhausted })).toBe(
      'responses/team-b: the provider rate limited the account (429). ' +
        'No other account served it: all eligible accounts are rate limited, the first until 12:30.',
    );
  });

  it('names the accounts too when no other one was asked for', () => {
    const away = { accountId: 'messages/team-a', cancelReason: CancelReason.ADAPTER_AWAY };
    expect(verdict({ ending: FAILED, attempts: [unauthorized, away] })).toBe(
      'responses/team-a: 401 from the provider; ' +
        'messages/team-a: the adapter was unreachable, or the connection to it broke.',
    );
  });

  it('says what the result says, without a cause', () => {
    expect(verdict({ ending: FAILED, attempts: [{ ...unreachable, cause: '' }] })).toBe(
      'messages/team-a: the provider is unreachable.',
    );
  });

  it('names equal failures once, and no more accounts than one can read', () => {
    const attempts = [1, 1, 2, 3, 4, 5, 6].map((n) => ({ ...unauthorized, accountId: `p/${n}` }));
    expect(verdict({ ending: FAILED, attempts })).toBe(
      `${[1, 2, 3, 4].map((n) => `p/${n}: 401 from the provider`).join('; ')}; 2 more.`,
    );
  });

  it('says what broke the answer, who left, and what the client has to fix', () => {
    const broken = { result: AttemptResult.SERVER_ERROR, firstByte: 5 };
    expect(verdict({ ending: FAILED, attempts: [broken] })).toBe(
      'The provider returned a server error in the middle of the answer.',
    );
    expect(verdict({ ending: FAILED, attempts: [unauthorized, { ...broken, cause: 'the answer ended early' }] })).toBe(
      'The provider returned a server error in the middle of the answer: the answer ended early.',
    );
    expect(verdict({ ending: ABORTED })).toContain('client disconnected');
    expect(verdict({ ending: REFUSED, errorCode: 'invalid_json' })).toContain('not valid JSON');
    expect(verdict({ ending: COMPLETED, status: 200 })).toBe('');
  });
});

describe('the account of a request', () => {
  const answerer = (attempts: MessageInitShape<typeof RecordedAttemptSchema>[]) =>
    answererOf(create(RequestRecordedSchema, { receivedAtMs: 1, attempts }));

  it('is the one that answered, or else the last one that was tried', () => {
    const [failed, answered] = [{ accountId: 'pool/a', result: AttemptResult.RATE_LIMITED }, { accountId: 'pool/b' }];
    const { SUCCEEDED, SERVER_ERROR } = AttemptResult;
    expect(answerer([failed, { ...answered, result: SUCCEEDED }])).toMatchObject({
      ...{ label: 'Answered by', accountId: 'pool/b' },
    });
    // The answer broke off.
    expect(answerer([{ ...answered, firstByte: 3, result: SERVER_ERROR }])?.label).toBe('Answered by');
    expect(answerer([{ ...answered, result: SERVER_ERROR }, failed])).toMatchObject({
      ...{ label: 'Last tried', accountId: 'pool/a' },
    });
    expect(answerer([])).toBeUndefined();
  });

  it('is that of the ledger where the log has no request', () => {
    const attempts = [{ accountId: 'pool/of-ledger', usage: {} }];
    const inLedger = (ending: RequestEnding) => answererOf(create(RequestRecordedSchema, { attempts, ending }));
    expect(inLedger(COMPLETED)).toMatchObject({ label: 'Answered by', accountId: 'pool/of-ledger' });
    expect(inLedger(RequestEnding.UNSPECIFIED)?.label).toBe('Last tried');
  });

  it('is named among those that were skipped, as far as names are known', () => {
    const skipped = (names: string[], count = 4, tried: string[] = []) =>
      skippedTexts(
        [create(SkippedAccountsSchema, { pool: 'p', model: 'm', reason: 'why', count, names })],
        tried.map((accountId) => ({ accountId })),
      );
    expect(skipped(['a', 'b', 'c'])).toEqual(['4 of p for m (a, b, c and 1 more): why']);
    expect(skipped(['a', 'b', 'c', 'd'])).toEqual(['4 of p for m (a, b, c, d): why']);
    expect(skipped([])).toEqual(['4 of p for m: why']);
    expect(skipped(['a', 'b', 'c'], 4, ['p/b', 'other/a'])).toEqual(['3 of p for m (a, c and 1 more): why']);
    expect(skipped(['a'], 1, ['p/a'])).toEqual([]);
  });
});

describe('an attempt', () => {
  const text = (init: MessageInitShape<typeof RecordedAttemptSchema>) =>
    attemptResultText(create(RecordedAttemptSchema, init), wording);

  it('says how it went, and when its account is free again', () => {
    const limited = { result: AttemptResult.RATE_LIMITED, upstreamStatus: 429, retryAtMs: at('11:00') };
    expect(text(limited)).toBe('The provider rate limited the account (429); the account is available again at 11:00.');
    expect(text({ result: AttemptResult.SUCCEEDED, upstreamStatus: 200, amended: 'encrypted_reasoning' })).toBe(
      'The provider answered. The gateway resent it without the feature that the provider rejected (encrypted_reasoning).',
    );
    expect(text({ cancelReason: CancelReason.CLIENT_STALLED, result: AttemptResult.SUCCEEDED })).toContain(
      'stopped reading the answer',
    );
  });

  it('names the cause, where the provider did not answer', () => {
    expect(text(unreachable)).toBe(
      'The provider was unreachable, or the connection broke: connection refused by 127.0.0.1:9.',
    );
    expect(text({ ...unreachable, cause: '' })).toBe('The provider was unreachable, or the connection broke.');
    const page = { result: AttemptResult.NETWORK_ERROR, upstreamStatus: 502, cause: 'not in its format' };
    expect(text(page)).toContain('broke (502): not in its format.');
  });
});

describe('why no account served it, beside the skipped accounts', () => {
  const text = (init: MessageInitShape<typeof NoAccountSchema>, attempts: number) =>
    noAccountText(create(NoAccountSchema, init), attempts, wording);

  it('leaves to them what only they say', () => {
    const unavailable = { cause: NoAccountCause.UNAVAILABLE };
    expect(text(unavailable, 1)).toBe('No other account was available.');
    expect(text({ ...unavailable, reason: 'the retry budget was spent' }, 1)).toBe(
      'No other account served it: the retry budget was spent.',
    );
    expect(text(unavailable, 0)).toContain('for reasons other than limits');
  });
});

describe('a request that was tried at several accounts', () => {
  it('has failed over only when it completed', () => {
    const hasFailed = (ending: RequestEnding, attempts = [{}, {}]) =>
      hasFailedOver(create(RequestRecordedSchema, { attempts, ending }));
    expect([COMPLETED, FAILED, ABORTED].map((ending) => hasFailed(ending))).toEqual([true, false, false]);
    expect(hasFailed(COMPLETED, [{}])).toBe(false);
  });
});

describe('a request without usage', () => {
  const text = (attempts: MessageInitShape<typeof RecordedAttemptSchema>[]) =>
    noUsageText(create(RequestRecordedSchema, { receivedAtMs: 1, attempts }));

  it('says whether a provider was called, and answered', () => {
    const failed = { accountId: 'p/a', result: AttemptResult.UNAUTHORIZED };
    expect(text([])).toBe('No usage: no provider was called.');
    expect(text([failed, failed])).toBe('No usage: no provider answered.');
    expect(text([failed, { accountId: 'p/b', result: AttemptResult.SUCCEEDED }])).toBe(
      'No usage: the provider bills nothing for this answer.',
    );
  });
});

describe('a request that was rejected', () => {
  it('says what the provider rejected, whether or not the client got the provider’s own answer', () => {
    const cause = 'invalid_request_error, code unsupported_value';
    const attempts = [{ result: AttemptResult.REJECTED, upstreamStatus: 400, cause }];
    for (const errorCode of ['', 'upstream_rejected']) {
      expect(verdict({ ending: REFUSED, errorCode, attempts })).toBe(
        `The provider rejected the request (400): ${cause}. Another account would not help.`,
      );
    }
  });

  it('names a class where only models are accepted', () => {
    const request = { ending: REFUSED, errorCode: 'model_not_found', endpoint: '/v1/responses' };
    expect(verdict({ ...request, model: 'gateway/sterk' })).toMatch(/^Model classes are not accepted/);
    expect(verdict({ ...request, model: 'sterk' })).toMatch(/^The model does not exist/);
  });

  it('says whether its body was read, if it names no model', () => {
    expect(noModelText(create(RequestRecordedSchema, {}))).toBe('unknown (the body was not read)');
    expect(noModelText(create(RequestRecordedSchema, { times: { bodyRead: 1 } }))).toBe(
      'none (the body names no model)',
    );
  });
});
