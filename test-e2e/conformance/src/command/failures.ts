import { CommanderError } from 'commander';
import { plain } from '../report/plain.ts';

/** The arguments of the command do not fit together. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The checks ran, and the gateway breaks some rules. */
export class BrokenRules extends Error {
  override readonly name = 'BrokenRules';
}

/** 0: help was asked for; 2: a usage error; 1: the command failed, or a rule is broken. */
export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  return thrown instanceof UsageError ? 2 : 1;
}

/** What the terminal shows of a failure. Empty where the parser of the command line has shown it. */
export function failureText(thrown: unknown): string {
  if (thrown instanceof CommanderError) return '';
  return `gateway-conformance: ${plain(thrown instanceof Error ? thrown.message : String(thrown))}\n`;
}
