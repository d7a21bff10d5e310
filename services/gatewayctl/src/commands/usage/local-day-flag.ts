import { InvalidArgumentError } from 'commander';

/** A day of the calendar as a flag's value. */
export function localDay(text: string): string {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)) return text;
  throw new InvalidArgumentError('It must be a day such as 2026-11-20.');
}
