import type { UpstreamErrorAnswer } from '../format-definition.ts';
import type { ErrorMeaning } from './error-meanings.ts';

/**
 * The meaning of a provider's error status, followed by the meanings that the error's code or text
 * may give it instead.
 */
export type StatusRule = readonly [meaning: ErrorMeaning, ...orByError: ErrorMeaning[]];

/** The rules of one provider format. */
export interface StatusRules {
  readonly byStatus: ReadonlyMap<number, StatusRule>;
  /** For all other statuses below 500: the request is wrong. */
  readonly otherClientError: StatusRule;
  readonly otherServerError: StatusRule;
}

/**
 * The meaning of an answer with an error status. `ofError` is the meaning of its error; undefined
 * when its body contains no error of the provider.
 */
export function meaningOfStatus(
  answer: UpstreamErrorAnswer,
  rules: StatusRules,
  ofError: ErrorMeaning | undefined,
): ErrorMeaning {
  // A 404 without an error shows that the address is not the provider's API.
  const isForeign = isForeignPage(answer) || (answer.status === 404 && ofError === undefined);
  if (answer.status < 400 || isForeign) return 'network';
  const otherRule = answer.status < 500 ? rules.otherClientError : rules.otherServerError;
  const [meaning, ...orByError] = rules.byStatus.get(answer.status) ?? otherRule;
  return ofError !== undefined && orByError.includes(ofError) ? ofError : meaning;
}

/** An HTML page with a client error comes from an intermediary, so the account is not the cause. */
function isForeignPage({ status, headers, body }: UpstreamErrorAnswer): boolean {
  if (status >= 500 || statusesOfProxies.has(status)) return false;
  if (/\bhtml\b/i.test(headers['content-type'] ?? '')) return true;
  return new TextDecoder().decode(body).trimStart().startsWith('<');
}

/** A proxy uses these with the provider's meaning: it limits sizes, rates and times too. */
const statusesOfProxies: ReadonlySet<number> = new Set([408, 413, 429]);

/** Errors that differ only in their text. */
export interface TextMeaning {
  /** The meanings of the codes with which it comes. */
  readonly of: readonly ErrorMeaning[];
  /** Anchored at the start, because later parts of a text may repeat words of the request. */
  readonly text: RegExp;
  readonly means: ErrorMeaning;
}

/** The meaning of an error by its text, if its code is not specific enough. */
export function meaningOfText(
  coded: ErrorMeaning | undefined,
  text: string,
  meanings: readonly TextMeaning[],
): ErrorMeaning | undefined {
  return (
    meanings.find(({ of, text: wording }) => coded !== undefined && of.includes(coded) && wording.test(text))?.means ??
    coded
  );
}

const disabledText = /^(?:this|your) (?:organization|account|workspace) has been (?:disabled|suspended|deactivated)/i;
const noCreditText = /^(?:your credit balance is too low|you(?:['’]re| are) out of (?:extra usage|credits?))/i;

/** With a status that refuses the request, and with one that refuses the caller. */
const refusals = ['rejected', 'refused', 'refused_account'] as const;

/**
 * Refusals of an account that look like refusals of a request: both providers' messages about
 * credit, plans and access. What an account may not use is unclear: the request may have chosen it.
 */
export const accountTexts: readonly TextMeaning[] = [
  { of: refusals, text: disabledText, means: 'disabled_account' },
  { of: refusals, text: noCreditText, means: 'no_credit' },
  { of: refusals, text: /^you have reached your specified (?:\w+ ){0,3}usage limits/i, means: 'refused_account' },
  {
    of: ['rejected'],
    text: /^access to (?:anthropic models|claude|codex|the api) is not (?:allowed|available) for this (?:account|organization|workspace)/i,
    means: 'refused_account',
  },
  {
    of: ['rejected'],
    text: /^access to (?:\w+ ){1,5}is not (?:allowed|available) for this (?:account|organization|workspace)/i,
    means: 'refused',
  },
  {
    of: ['rejected'],
    text: /^(?:this|your) (?:plan|subscription) (?:is not|isn['’]t|does not|doesn['’]t|has no) /i,
    means: 'refused_account',
  },
  {
    of: ['rejected'],
    text: /^(?:this|your) (?:account|organization|workspace) (?:is not|isn['’]t|does not|doesn['’]t|has no) /i,
    means: 'refused',
  },
];
