import type { GatewayDatabase } from '@gateway/database';
import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { type AuditNote, noteInAudit } from './audit-trail.ts';

interface SharedRow {
  readonly auditId: Promise<string>;
  times: number;
}

/**
 * Rows of the audit log for repeated events. Events with the same key share a row for ten minutes
 * from the first one. The row says how often the event happened.
 */
export class SharedAuditRows {
  readonly #database: GatewayDatabase;
  readonly #rows: LRUCache<string, SharedRow>;

  constructor(database: GatewayDatabase) {
    this.#database = database;
    this.#rows = new LRUCache({
      max: 1_000,
      ttl: shareMs,
      noUpdateTTL: true,
      ttlResolution: 0,
      perf: { now: epochMs },
    });
  }

  /** The number of current rows that further events may share. */
  get size(): number {
    this.#rows.purgeStale();
    return this.#rows.size;
  }

  /**
   * @param isDue whether the row is updated at this count.
   * @param detailsOf the details of the row at this count.
   */
  async note(
    key: string,
    entry: Omit<AuditNote, 'before' | 'after'>,
    isDue: (times: number) => boolean = () => true,
    detailsOf: (times: number) => object = (times) => ({ times }),
  ): Promise<void> {
    const shared = this.#rows.get(key);
    if (shared === undefined) {
      const auditId = noteInAudit(this.#database, { ...entry, after: detailsOf(1) });
      this.#rows.set(key, { auditId, times: 1 });
      auditId.catch(() => this.#rows.delete(key));
      await auditId;
      return;
    }
    shared.times++;
    if (!isDue(shared.times)) return;
    const details = JSON.stringify({ after: detailsOf(shared.times) });
    await this.#database
      .updateTable('audit_log')
      .set({ details })
      .where('audit_id', '=', await shared.auditId)
      .execute();
  }

  has(key: string): boolean {
    return this.#rows.has(key);
  }
}

const shareMs = 600_000;
