import type { ErrorMeaning } from './error-meanings.ts';

/** Errors that differ only in their text. */
export interface TextMeaning {
  /** The meaning of the code. */
  readonly of: ErrorMeaning;
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
  return meanings.find((entry) => entry.of === coded && entry.text.test(text))?.means ?? coded;
}

const disabledText = /^(?:this|your) (?:organization|account|workspace) has been (?:disabled|suspended|deactivated)/i;

/**
 * Refusals of an account that look like refusals of a request: both providers' messages about
 * credit, plans and access.
 */
export const accountTexts: readonly TextMeaning[] = [
  { of: 'rejected', text: disabledText, means: 'disabled_account' },
  { of: 'refused_account', text: disabledText, means: 'disabled_account' },
  { of: 'rejected', text: /^your credit balance is too low/i, means: 'refused_account' },
  { of: 'rejected', text: /^you(?:['’]re| are) out of (?:extra usage|credits?)/i, means: 'refused_account' },
  { of: 'rejected', text: /^you have reached your specified (?:\w+ ){0,3}usage limits/i, means: 'refused_account' },
  {
    of: 'rejected',
    text: /^access to (?:\w+ ){1,3}is not (?:allowed|available) for this (?:account|organization|workspace)/i,
    means: 'refused_account',
  },
  {
    of: 'rejected',
    text: /^(?:this|your) (?:account|organization|workspace|plan|subscription) (?:is not|isn['’]t|does not|doesn['’]t|has no) /i,
    means: 'refused_account',
  },
];
