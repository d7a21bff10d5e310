import { type Account, type AccountError, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';

type ErrorFacts = Pick<AccountError, 'result' | 'upstreamStatus' | 'cause'>;

/** The cause of an attempt that failed because the account must be paid for. */
export const noCreditCause = 'the provider says that the account has no credit left';

/** Why an attempt failed: "connection refused by 10.0.0.7:443", "401 from the provider". */
export function accountErrorText({ result, upstreamStatus, cause }: ErrorFacts): string {
  // A cause names a status of success itself.
  if (upstreamStatus < 400) return cause || (wordsOf[result] ?? 'the attempt failed');
  return cause === '' ? `${upstreamStatus} from the provider` : `${upstreamStatus}: ${cause}`;
}

const wordsOf: Readonly<Partial<Record<AttemptResult, string>>> = {
  [AttemptResult.UNAUTHORIZED]: 'the provider rejects the credential',
  [AttemptResult.REFUSED]: 'the provider did not permit the request',
  [AttemptResult.OVERLOADED]: 'the provider is overloaded',
  [AttemptResult.SERVER_ERROR]: 'the answer broke off or was not valid',
  [AttemptResult.NETWORK_ERROR]: 'the provider is unreachable',
  [AttemptResult.TIMEOUT]: 'the provider took too long',
};

/**
 * The last error of an account with its age: "7 errors in a row, the last 2 minutes ago: 401 from
 * the provider". `age`: "2 minutes".
 */
export function lastErrorText(error: AccountError, age: string): string {
  const text = accountErrorText(error);
  if (error.inARow === 0) return `last error ${age} ago: ${text}`;
  if (error.inARow === 1) return `1 error, ${age} ago: ${text}`;
  return `${error.inARow} errors in a row, the last ${age} ago: ${text}`;
}

/**
 * Whether the account does not work at present: its credential was rejected, or three attempts in a
 * row failed. One may fail by chance, and so may two.
 */
export function isFailing({ lastError }: { readonly lastError?: AccountError | undefined }): boolean {
  if (lastError === undefined || lastError.inARow === 0) return false;
  return lastError.result === AttemptResult.UNAUTHORIZED || lastError.inARow >= 3;
}

/**
 * Whether every account of a pool that is in service is failing: the causes of their failures are
 * those of the pool's pause too.
 */
export function areAllFailing(accounts: readonly Pick<Account, 'state' | 'lastError'>[]): boolean {
  const inService = accounts.filter(({ state }) => state !== AccountState.DISABLED && state !== AccountState.DRAINING);
  return inService.length > 0 && inService.every(isFailing);
}
