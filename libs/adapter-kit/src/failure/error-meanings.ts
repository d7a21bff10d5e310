import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';

/**
 * The consequences of an error for the account and the request. Clients' messages are in
 * `errorTexts`.
 */
export interface Consequence {
  /** What the error concerns, and so what it counts against: see `concerns`. */
  readonly concern: Concern;
  readonly result: AttemptResult;
  /** Why the account is out of service until a person acts, after a permanent refusal. */
  readonly problem?: AccountProblem;
  /** A refused request may be sent again unchanged. Default false. */
  readonly mayBeRepeated?: true;
  /** What the account lacks, as a pattern of the names that requests use for it. */
  readonly feature?: string;
}

/** What an error concerns, and how the gateway reacts to it. */
export const concerns = {
  request: 'is final, and does not count against the account',
  model: 'the next account; the gateway does not use this account for the model for a while',
  feature: 'the next account; requests that need the feature skip this account for a while',
  choice: 'the next accounts, a few of them; nothing counts against any account',
  unclear: 'the next accounts, a few of them; no account pauses, but this one is used last for a while',
  account: 'the next account; this account cools down, or is taken out of service',
  provider: 'the next account, within the retry budget; counts as a failure of the account, or pauses the pool',
} as const;

export type Concern = keyof typeof concerns;

const rejected: Consequence = { concern: 'request', result: AttemptResult.REJECTED };

const ofAccount = (result: AttemptResult, problem?: AccountProblem): Consequence => ({
  concern: 'account',
  result,
  ...(problem === undefined ? {} : { problem }),
});

const ofProvider = (result: AttemptResult): Consequence => ({ concern: 'provider', result });

const byMeaning = {
  limited: ofAccount(AttemptResult.RATE_LIMITED),
  model_limited: ofAccount(AttemptResult.RATE_LIMITED),
  refused_account: ofAccount(AttemptResult.UNAUTHORIZED),
  /** Waiting does not help: a person must pay, or raise a limit of spending. */
  no_credit: ofAccount(AttemptResult.UNAUTHORIZED),
  revoked_credential: ofAccount(AttemptResult.UNAUTHORIZED, AccountProblem.CREDENTIAL_REVOKED),
  /** The account, its workspace or its organisation. */
  disabled_account: ofAccount(AttemptResult.UNAUTHORIZED, AccountProblem.ACCOUNT_DISABLED),
  /** The account or what the request chose, such as a profile to bill: the error does not say. */
  refused: { concern: 'unclear', result: AttemptResult.REFUSED },
  /** A service tier, a speed or the like, with limits of its own. */
  unavailable_choice: { concern: 'choice', result: AttemptResult.FEATURE_UNAVAILABLE, mayBeRepeated: true },
  unknown_model: { concern: 'model', result: AttemptResult.MODEL_UNAVAILABLE },
  lacks_long_context: {
    concern: 'feature',
    result: AttemptResult.FEATURE_UNAVAILABLE,
    feature: 'context-1m-*',
  },
  overloaded: ofProvider(AttemptResult.OVERLOADED),
  server_error: ofProvider(AttemptResult.SERVER_ERROR),
  network: ofProvider(AttemptResult.NETWORK_ERROR),
  timeout: ofProvider(AttemptResult.TIMEOUT),
  rejected,
  /** Another operation has locked the subject of the request. */
  conflict: { ...rejected, mayBeRepeated: true },
  output_too_long: rejected,
  too_large: rejected,
  context_too_long: rejected,
  bad_image: rejected,
  against_policy: rejected,
  unreadable_reasoning: rejected,
} satisfies Record<string, Consequence>;

/**
 * The meaning of a provider's error for the request, for the account, and for what else could serve
 * the request.
 */
export type ErrorMeaning = keyof typeof byMeaning;

export const consequences: Readonly<Record<ErrorMeaning, Consequence>> = byMeaning;

/** Meanings that describe more precisely what is wrong with a rejected request. */
export const closerRejections = [
  'too_large',
  'context_too_long',
  'bad_image',
  'against_policy',
  'unreadable_reasoning',
] as const satisfies readonly ErrorMeaning[];
