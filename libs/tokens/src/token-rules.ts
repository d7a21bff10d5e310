import type { TokenTextKind } from './token-text.ts';

/** The limits of a service token. Undefined: unlimited. */
export interface TokenLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerDay?: number | undefined;
}

/** The details of a token in a request. Undefined: absent, or unchanged. */
export interface GivenDetails {
  /** Undefined: unknown, so limits are allowed. */
  readonly kind?: TokenTextKind | undefined;
  readonly label?: string | undefined;
  readonly limits?: TokenLimits | undefined;
  readonly note?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

/**
 * The problems in the details of a token, by the fields of requests:
 * `{ label: 'must be 1 to 100 characters, not 0.' }`. The same rules apply wherever tokens are
 * issued and changed.
 * @see spec "Token limits"
 */
export function detailProblems(
  { kind, label, limits, note, expiresAtMs }: GivenDetails,
  nowMs: number,
): Readonly<Record<string, string>> {
  const isLimited = limits?.requestsPerMinute !== undefined || limits?.tokensPerDay !== undefined;
  const problems = {
    label: label === undefined ? undefined : labelProblem(label),
    limits: kind === 'personal' && isLimited ? 'must be absent: a personal token has no limits.' : undefined,
    'limits.requestsPerMinute': countProblem(limits?.requestsPerMinute, maxRequestsPerMinute),
    'limits.tokensPerDay': countProblem(limits?.tokensPerDay, Number.MAX_SAFE_INTEGER),
    note: note === undefined ? undefined : noteProblem(note),
    expiresAt: expiresAtMs === undefined ? undefined : expiryProblem(expiresAtMs, nowMs),
  };
  return Object.fromEntries(Object.entries(problems).filter(([, text]) => text !== undefined)) as Record<
    string,
    string
  >;
}

/** How long a replaced text may stay valid. */
export const maxKeepOldSeconds = 30 * 86_400;

const maxLabelLength = 100;
const maxNoteLength = 1_000;
const maxRequestsPerMinute = 2 ** 32 - 1;
const lastMomentMs = Date.UTC(9999, 11, 31);

/**
 * People distinguish tokens by their labels, so a label must not contain characters that are
 * invisible or change how others are displayed.
 */
function labelProblem(text: string): string | undefined {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) || !text.isWellFormed()) {
    return 'must not contain control, format or line-separator characters, such as tabs, line breaks and zero-width joiners.';
  }
  const length = [...text.trim()].length;
  if (length >= 1 && length <= maxLabelLength) return undefined;
  return `must be 1 to ${maxLabelLength} characters, not ${length}.`;
}

function noteProblem(text: string): string | undefined {
  if (/[^\P{Cc}\n\r\t]/u.test(text) || !text.isWellFormed()) {
    return 'must not contain control characters other than tabs and line breaks.';
  }
  const length = [...text.trim()].length;
  return length <= maxNoteLength ? undefined : `must be at most ${maxNoteLength} characters, not ${length}.`;
}

function expiryProblem(expiresAtMs: number, nowMs: number): string | undefined {
  return expiresAtMs > nowMs && expiresAtMs <= lastMomentMs ? undefined : 'must be in the future.';
}

function countProblem(count: number | undefined, max: number): string | undefined {
  if (count === undefined || (Number.isInteger(count) && count >= 0 && count <= max)) return undefined;
  return `must be a whole number from 0 to ${max}.`;
}
