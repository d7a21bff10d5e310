import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { LimitName } from '@gateway/proto/limiter/v1/limit_pb.js';
import { AttemptResult, SkippedAccountsSchema } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  LoggedAttemptSchema,
  NoAccountCause,
  RequestEnding,
  RequestLoggedSchema,
} from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import {
  answererOf,
  attemptResultText,
  hasFailedOver,
  noUsageText,
  skippedText,
  verdictText,
  type Wording,
} from './request-text.ts';

const wording: Wording = {
  moment: (moment) => timestampDate(moment).toISOString().slice(11, 16),
  duration: (ms) => `${ms} ms`,
};
const at = (time: string) => timestampFromMs(Date.parse(`2026-11-22T${time}:00Z`));
const { FAILED, REFUSED, ABORTED, COMPLETED } = RequestEnding;
const verdict = (init: MessageInitShape<typeof RequestLoggedSchema>) =>
  verdictText(create(RequestLoggedSchema, init), wording);

describe('the verdict on a request', () => {
  it('names the limit that refused it, and until when', () => {
    const refusal = { limit: LimitName.TOKENS_PER_DAY, retryAt: at('23:00') };
    expect(verdict({ ending: REFUSED, status: 429, errorCode: 'rate_limit_exceeded', refusal })).toBe(
      'The token reached its limit of tokens per day, which resets at midnight in Amsterdam. Retry at 23:00 or later.',
    );
  });

  it('says why no account served it', () => {
    const noAccount = { cause: NoAccountCause.EXHAUSTED, retryAt: at('12:30') };
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
  });

  it('says what broke the answer, who left, and what the client has to fix', () => {
    const attempts = [{ result: AttemptResult.SERVER_ERROR, firstByte: 5 }];
    expect(verdict({ ending: FAILED, attempts })).toBe(
      'The provider returned a server error in the middle of the answer.',
    );
    expect(verdict({ ending: ABORTED })).toContain('client disconnected');
    expect(verdict({ ending: REFUSED, errorCode: 'invalid_json' })).toContain('not valid JSON');
    expect(verdict({ ending: COMPLETED, status: 200 })).toBe('');
  });
});

describe('the account of a request', () => {
  const answerer = (attempts: MessageInitShape<typeof LoggedAttemptSchema>[], outcome?: LedgerOutcome) => {
    const recorded =
      outcome === undefined ? undefined : create(UsageRecordedSchema, { accountId: 'pool/of-ledger', outcome });
    return answererOf(outcome ? undefined : create(RequestLoggedSchema, { attempts }), recorded);
  };

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
    expect(answerer([], LedgerOutcome.COMPLETED)).toMatchObject({ label: 'Answered by', accountId: 'pool/of-ledger' });
    expect(answerer([], LedgerOutcome.LOST)?.label).toBe('Last tried');
  });

  it('is named among those that were skipped, as far as names are known', () => {
    const skipped = (names: string[]) =>
      skippedText(create(SkippedAccountsSchema, { pool: 'p', model: 'm', reason: 'why', count: 4, names }));
    expect(skipped(['a', 'b', 'c'])).toBe('4 of p for m (a, b, c and 1 more): why');
    expect(skipped(['a', 'b', 'c', 'd'])).toBe('4 of p for m (a, b, c, d): why');
    expect(skipped([])).toBe('4 of p for m: why');
  });
});

describe('an attempt', () => {
  const text = (init: MessageInitShape<typeof LoggedAttemptSchema>) =>
    attemptResultText(create(LoggedAttemptSchema, init), wording);

  it('says how it went, and when its account is free again', () => {
    const limited = { result: AttemptResult.RATE_LIMITED, upstreamStatus: 429, retryAt: at('11:00') };
    expect(text(limited)).toBe('The provider rate limited the account (429); the account is available again at 11:00.');
    expect(text({ result: AttemptResult.SUCCEEDED, upstreamStatus: 200, amended: 'encrypted_reasoning' })).toBe(
      'The provider answered. The gateway resent it without the feature that the provider rejected (encrypted_reasoning).',
    );
    expect(text({ cancelReason: CancelReason.CLIENT_STALLED, result: AttemptResult.SUCCEEDED })).toContain(
      'stopped reading the answer',
    );
  });
});

describe('a request that was tried at several accounts', () => {
  it('has failed over only when it completed', () => {
    const over = [COMPLETED, FAILED, ABORTED].map((ending) => hasFailedOver({ moved: true, ending }));
    expect(over).toEqual([true, false, false]);
    expect(hasFailedOver({ moved: false, ending: COMPLETED })).toBe(false);
  });
});

describe('a request without usage', () => {
  const text = (attempts: MessageInitShape<typeof LoggedAttemptSchema>[]) =>
    noUsageText(create(RequestLoggedSchema, { attempts }));

  it('says whether a provider was called, and answered', () => {
    const failed = { accountId: 'p/a', result: AttemptResult.UNAUTHORIZED };
    expect(text([])).toBe('No usage: no provider was called.');
    expect(text([failed, failed])).toBe('No usage: no provider answered.');
    expect(text([failed, { accountId: 'p/b', result: AttemptResult.SUCCEEDED }])).toMatch(
      /the ledger does not have it/,
    );
    expect(noUsageText(undefined)).toBe('No usage: the ledger has none for this request.');
  });
});
