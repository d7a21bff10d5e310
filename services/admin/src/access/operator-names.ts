import { detailProblems } from '@gateway/tokens';

/**
 * Whether an operator may have a name: by the rules of labels, since people know operators by their names in the audit log. No character
 * may be unseen, or change how others are seen.
 */
export function isOperatorName(text: string | undefined): text is string {
  return text !== undefined && text === text.trim() && !('label' in detailProblems({ label: text }, 0));
}

/** The beginning of a text, without cutting a character in two. */
export function beginningOf(text: string, maxLength: number): string {
  return [...text].slice(0, maxLength).join('').trim();
}
