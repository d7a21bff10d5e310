import { CommanderError } from 'commander';
import { plain } from '../report/plain.ts';

/** The arguments of the command contradict each other. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The checks ran, and the gateway breaks some rules. */
export class BrokenRules extends Error {
  override readonly name = 'BrokenRules';
}

/** 0: help was printed; 2: a usage error; 1: the command failed, or a rule is broken. */
export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  return thrown instanceof UsageError ? 2 : 1;
}

/** The error message on the terminal. Empty if the parser of the command line has printed it. */
export function failureText(thrown: unknown): string {
  if (thrown instanceof CommanderError) return '';
  return `gateway-conformance: ${plain(thrown instanceof Error ? thrown.message : String(thrown))}\n`;
}
