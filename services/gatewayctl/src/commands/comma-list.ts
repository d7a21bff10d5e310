import { InvalidArgumentError } from 'commander';

/** Parses the value of a flag that takes several values, separated by commas. */
export function commaList(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  const named = parts.filter((part) => part !== '');
  if (named.length === 0) throw new InvalidArgumentError('It must not be empty.');
  return named;
}
