import type { GatewayDatabase } from '@gateway/database';
import type { Logger } from '@gateway/telemetry';
import { epochMs, sleep } from '@gateway/time';

export interface AuditRetention {
  readonly database: GatewayDatabase;
  readonly logger: Logger;
  /** How long rows are kept; 0 keeps all. */
  readonly retentionDays: number;
  readonly signal: AbortSignal;
}

/** Removes expired rows of the audit log once an hour. Never throws. */
export async function tendAuditLog(parts: AuditRetention): Promise<void> {
  const { retentionDays, logger, signal } = parts;
  if (retentionDays === 0) return;
  while (!signal.aborted) {
    try {
      const rows = await removeOldAudit(parts);
      if (rows > 0) logger.info({ rows }, 'removed expired rows of the audit log');
    } catch (thrown) {
      if (signal.aborted) return;
      logger.warn({ err: thrown }, 'expired rows of the audit log could not be removed; retrying');
    }
    await sleep(intervalMs, { signal, ref: false }).catch(() => undefined);
  }
}

/**
 * Deletes in small batches: a large deletion locks the table for others. Returns the number of
 * removed rows.
 */
export async function removeOldAudit(parts: Omit<AuditRetention, 'logger'>): Promise<number> {
  const { database, retentionDays, signal } = parts;
  const beforeMs = epochMs() - retentionDays * dayMs;
  let removed = 0;
  for (let last = rowsAtOnce; last === rowsAtOnce && !signal.aborted; removed += last) {
    const { numDeletedRows } = await database
      .deleteFrom('audit_log')
      .where('audit_id', 'in', (query) =>
        query
          .selectFrom('audit_log')
          .select('audit_id')
          .where('at_ms', '<', beforeMs)
          .orderBy('at_ms')
          .limit(rowsAtOnce),
      )
      .executeTakeFirstOrThrow();
    last = Number(numDeletedRows);
  }
  return removed;
}

export const rowsAtOnce = 1_000;
const intervalMs = 3_600_000;
const dayMs = 86_400_000;
