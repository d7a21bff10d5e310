import { detailProblems } from '@gateway/tokens';

/**
 * Whether a text may be an operator's name. The rules are those of labels, since names identify
 * people in the audit log. All characters must be visible, and none may change how others are
 * displayed.
 */
export function isOperatorName(text: string | undefined): text is string {
  return text !== undefined && text === text.trim() && !('label' in detailProblems({ label: text }, 0));
}

/** The beginning of a text. Never splits a character. */
export function beginningOf(text: string, maxLength: number): string {
  return [...text].slice(0, maxLength).join('').trim();
}
