import { GatewayError } from '@gateway/errors';
import type { Token, TokenLimits } from './token.ts';

const maxLabelLength = 100;

/** @throws GatewayError `invalid_request` for a label that is empty, too long, or not a line of text. */
export function checkLabel(label: string): string {
  const length = [...label].length;
  if (label.trim() === '' || length > maxLabelLength || /\p{Cc}/u.test(label) || !label.isWellFormed()) {
    throw new GatewayError('invalid_request', `label must be 1 to ${maxLabelLength} characters on one line.`);
  }
  return label;
}

/**
 * @throws GatewayError `invalid_request` for limits on a personal token, or for one that is not a count.
 * @see spec "Token limits"
 */
export function checkLimits(kind: Token['kind'], limits: TokenLimits): TokenLimits {
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
