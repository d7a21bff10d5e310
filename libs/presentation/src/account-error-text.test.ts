import { create } from '@bufbuild/protobuf';
import { AccountErrorSchema, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { accountErrorText, areAllFailing, isFailing, lastErrorText } from './account-error-text.ts';

const { UNAUTHORIZED, NETWORK_ERROR, SERVER_ERROR, CANCELLED } = AttemptResult;

describe('the last error of an account', () => {
  it.each([
    [{ result: UNAUTHORIZED, upstreamStatus: 401, cause: '' }, '401 from the provider'],
    [{ result: NETWORK_ERROR, upstreamStatus: 0, cause: 'connection refused by a:1' }, 'connection refused by a:1'],
    [
      { result: NETWORK_ERROR, upstreamStatus: 502, cause: 'the answer is not the provider’s' },
      '502: the answer is not the provider’s',
    ],
    [
      { result: NETWORK_ERROR, upstreamStatus: 200, cause: 'answered 200 with text/html' },
      'answered 200 with text/html',
    ],
    [{ result: SERVER_ERROR, upstreamStatus: 0, cause: '' }, 'the answer broke off or was not valid'],
    [{ result: CANCELLED, upstreamStatus: 0, cause: '' }, 'the attempt failed'],
  ])('is said in a few words: %j', (error, text) => {
    expect(accountErrorText(error)).toBe(text);
  });

  it('is said with its age, and with how many came in a row', () => {
    const text = (inARow: number) =>
      lastErrorText(create(AccountErrorSchema, { inARow, result: UNAUTHORIZED, upstreamStatus: 401 }), '2 minutes');
    expect([0, 1, 7].map(text)).toEqual([
      'last error 2 minutes ago: 401 from the provider',
      '1 error, 2 minutes ago: 401 from the provider',
      '7 errors in a row, the last 2 minutes ago: 401 from the provider',
    ]);
  });

  it('means that the account fails after three in a row, or when its credential is rejected', () => {
    const after = (inARow: number, result = NETWORK_ERROR) =>
      isFailing({ lastError: create(AccountErrorSchema, { inARow, result }) });
    expect([isFailing({}), after(0), after(2), after(3)]).toEqual([false, false, false, true]);
    expect([after(1, UNAUTHORIZED), after(0, UNAUTHORIZED)]).toEqual([true, false]);
  });

  it('is that of its whole pool when every account in service is failing', () => {
    const lastError = create(AccountErrorSchema, { inARow: 3, result: NETWORK_ERROR });
    const failing = { state: AccountState.AVAILABLE, lastError };
    const out = { state: AccountState.DISABLED };
    expect(areAllFailing([failing, { ...failing, state: AccountState.COOLING }, out])).toBe(true);
    expect(areAllFailing([failing, { state: AccountState.COOLING }])).toBe(false);
    expect([areAllFailing([]), areAllFailing([out])]).toEqual([false, false]);
  });
});
