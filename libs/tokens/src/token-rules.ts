import type { TokenTextKind } from './token-text.ts';

/** The limits of a service token. Undefined: unlimited. */
export interface TokenLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerDay?: number | undefined;
  /** Requests at a time. */
  readonly concurrentRequests?: number | undefined;
  /** Whether requests reserve tokens per day before they run. */
  readonly strictTokens?: boolean | undefined;
}

/** What the service tokens of a group share. */
export interface GroupLimits extends TokenLimits {
  readonly budget?: GroupBudget | undefined;
}

/**
 * How many requests at a time a group with a budget may have, unless its limits say otherwise. Each
 * of them may exceed the budget by what it costs beyond its reservation.
 */
export const requestsAtATimeOfBudget = 20;

export interface GroupBudget {
  /** In millionths of the currency. */
  readonly amountMicros: number;
  /** Undefined: not one of the known periods. */
  readonly period: 'day' | 'week' | 'month' | undefined;
}

/** What requests may use. Empty lists: everything. */
export interface GivenAccess {
  /** Models and classes, where "*" stands for any text. */
  readonly models: readonly string[];
  readonly accountLabels: readonly string[];
}

/** The details of a token in a request. Undefined: absent, or unchanged. */
export interface GivenDetails {
  /** Undefined: unknown, so limits are allowed. */
  readonly kind?: TokenTextKind | undefined;
  readonly label?: string | undefined;
  readonly limits?: TokenLimits | undefined;
  readonly note?: string | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly access?: GivenAccess | undefined;
}

/** The details of a group in a request. Undefined: absent, or unchanged. */
export interface GivenGroup {
  readonly name?: string | undefined;
  readonly note?: string | undefined;
  readonly limits?: GroupLimits | undefined;
  readonly access?: GivenAccess | undefined;
}

/** The problems in the details of a group, as `detailProblems` reports those of a token. */
export function groupProblems({ name, note, limits, access }: GivenGroup): Readonly<Record<string, string>> {
  return found({
    name: name === undefined ? undefined : labelProblem(name),
    note: note === undefined ? undefined : noteProblem(note),
    ...limitProblems(limits),
    'limits.budget.amount': countProblem(limits?.budget?.amountMicros, Number.MAX_SAFE_INTEGER),
    'limits.budget.period':
      limits?.budget !== undefined && limits.budget.period === undefined ? 'must be day, week or month.' : undefined,
    ...accessProblems(access),
  });
}

/**
 * The problems in the details of a token, by the fields of requests:
 * `{ label: 'must be 1 to 100 characters, not 0.' }`. The same rules apply wherever tokens are
 * issued and changed.
 * @see spec "Token limits"
 */
export function detailProblems(
  { kind, label, limits, note, expiresAtMs, access }: GivenDetails,
  nowMs: number,
): Readonly<Record<string, string>> {
  return found({
    label: label === undefined ? undefined : labelProblem(label),
    limits: kind === 'personal' && isLimited(limits) ? 'must be absent: a personal token has no limits.' : undefined,
    ...limitProblems(limits),
    note: note === undefined ? undefined : noteProblem(note),
    expiresAtMs: expiresAtMs === undefined ? undefined : expiryProblem(expiresAtMs, nowMs),
    ...accessProblems(access),
  });
}

/** Whether a token has a limit of its own. */
export function isLimited({ requestsPerMinute, tokensPerDay, concurrentRequests }: TokenLimits = {}): boolean {
  return [requestsPerMinute, tokensPerDay, concurrentRequests].some((limit) => limit !== undefined);
}

/** How long a replaced text may stay valid. */
export const maxKeepOldSeconds = 30 * 86_400;

const maxLabelLength = 100;
const maxNoteLength = 1_000;
const maxCount = 2 ** 32 - 1;
const lastMomentMs = Date.UTC(9999, 11, 31);

const maxModels = 100;
const maxModelLength = 200;
const maxAccountLabels = 20;

type Problems = Readonly<Record<string, string | undefined>>;

function found(problems: Problems): Readonly<Record<string, string>> {
  const texts = Object.entries(problems).filter((each): each is [string, string] => each[1] !== undefined);
  return Object.fromEntries(texts);
}

function limitProblems({ requestsPerMinute, tokensPerDay, concurrentRequests, strictTokens }: TokenLimits = {}) {
  return {
    'limits.requestsPerMinute': countProblem(requestsPerMinute, maxCount),
    'limits.tokensPerDay': countProblem(tokensPerDay, Number.MAX_SAFE_INTEGER),
    'limits.concurrentRequests': countProblem(concurrentRequests, maxCount),
    'limits.strictTokens': strictTokens && tokensPerDay === undefined ? 'needs a limit of tokens per day.' : undefined,
  };
}

function accessProblems(access: GivenAccess | undefined): Problems {
  if (access === undefined) return {};
  const { models, accountLabels } = access;
  const isModel = (text: string) => text.length <= maxModelLength && /^[!-~]+$/.test(text);
  return {
    'access.models':
      models.length <= maxModels && models.every(isModel)
        ? undefined
        : `must be at most ${maxModels} ids of models or classes, each of 1 to ${maxModelLength} visible characters.`,
    'access.accountLabels':
      accountLabels.length <= maxAccountLabels && accountLabels.every(isAccountLabel)
        ? undefined
        : `must be at most ${maxAccountLabels} labels of letters, digits, "-", "_" and ".", each of 1 to 50 characters.`,
  };
}

/** Whether a text can be a label of an account. */
export function isAccountLabel(text: string): boolean {
  return /^[\w.-]{1,50}$/.test(text);
}

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
  const isMoment = Number.isInteger(expiresAtMs) && expiresAtMs <= lastMomentMs;
  return isMoment && expiresAtMs > nowMs ? undefined : 'must be in the future.';
}

function countProblem(count: number | undefined, max: number): string | undefined {
  if (count === undefined || (Number.isInteger(count) && count >= 0 && count <= max)) return undefined;
  return `must be a whole number from 0 to ${max}.`;
}
