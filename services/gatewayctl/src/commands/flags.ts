import { isLocalDay } from '@gateway/time';
import { InvalidArgumentError } from 'commander';

// How the texts of flags and arguments are read. What is wrong with one is said by its name.

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
  return (text) => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number${range}.`);
  };
}

export function commaList(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  const named = parts.filter((part) => part !== '');
  if (named.length === 0) throw new InvalidArgumentError('It is empty.');
  return named;
}

/** A day of the calendar. */
export function localDay(text: string): string {
  if (isLocalDay(text)) return text;
  throw new InvalidArgumentError('It must be a day such as 2026-11-20.');
}

export function accountId(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._@-]*$/.test(text)) return text;
  throw new InvalidArgumentError('It is written pool/name, such as responses/team-b.');
}
