import type { StoredTokenKind } from '@gateway/database';
import { GatewayError } from '@gateway/errors';

/** The limits of a service token. Undefined: not limited. */
export interface TokenLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerDay?: number | undefined;
}

const maxLabelLength = 100;

/**
 * The label without spaces around it.
 *
 * @throws GatewayError `invalid_request` for one that is empty or too long, or that has a character which is not seen, or
 * changes how others are seen: people distinguish tokens by their labels.
 */
export function checkLabel(text: string): string {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) || !text.isWellFormed()) {
    throw new GatewayError(
      'invalid_request',
      'label must not hold control, format or line-separator characters, which include tabs, line breaks and zero-width joiners.',
    );
  }
  const label = text.trim();
  const length = [...label].length;
  if (length === 0 || length > maxLabelLength) {
    throw new GatewayError('invalid_request', `label must be 1 to ${maxLabelLength} characters, not ${length}.`);
  }
  return label;
}

/**
 * @throws GatewayError `invalid_request` for limits on a personal token, or for one that is not a count.
 * @see spec "Token limits"
 */
export function checkLimits(kind: StoredTokenKind, limits: TokenLimits): TokenLimits {
  const { requestsPerMinute, tokensPerDay } = limits;
  if (kind === 'personal' && (requestsPerMinute !== undefined || tokensPerDay !== undefined)) {
    throw new GatewayError('invalid_request', 'limits: a personal token has no limits.');
  }
  checkCount('limits.requests_per_minute', requestsPerMinute);
  checkCount('limits.tokens_per_day', tokensPerDay);
  return limits;
}

function checkCount(name: string, count: number | undefined): void {
  if (count === undefined || (Number.isSafeInteger(count) && count >= 0)) return;
  throw new GatewayError('invalid_request', `${name} must be a whole number, 0 or more.`);
}
