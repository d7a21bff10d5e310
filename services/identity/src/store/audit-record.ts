import { randomUUID } from 'node:crypto';
import type { Database } from '@gateway/database';
import type { Transaction } from 'kysely';

export interface AuditRecord {
  readonly atMs: number;
  readonly action: 'token.issued' | 'token.revoked' | 'token.limits_set';
  /** The token's id. */
  readonly subject: string;
  /** What was set. Never a secret. */
  readonly details: Readonly<Record<string, string | number | undefined>>;
}

/** Notes what an operator did, in the transaction that does it. */
export async function recordAudit(
  transaction: Transaction<Database>,
  { atMs, action, subject, details }: AuditRecord,
): Promise<void> {
  await transaction
    .insertInto('audit_log')
    .values({ audit_id: randomUUID(), at_ms: atMs, action, subject, details: JSON.stringify(details) })
    .execute();
}
