import type { Environment } from '@gateway/config/env-reader';
import type { AdminConnection, Connect } from '../connection/admin-connection.ts';
import { note } from '../output/print.ts';

/** The parts that every command uses. */
export interface CommandContext {
  readonly env: Environment;
  readonly connect: Connect;
}

/**
 * Reports what was changed, and where: a gateway that uses another database does not know of it.
 */
export function noteChange({ database }: AdminConnection, change: string): void {
  note(change);
  if (database !== undefined) note(`no gateway was called: written to ${database.description}`);
}

export function noteAll(lines: readonly string[]): void {
  for (const line of lines) note(line);
}
