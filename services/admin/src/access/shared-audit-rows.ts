import type { GatewayDatabase } from '@gateway/database';
import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { type AuditNote, noteInAudit } from './audit-trail.ts';

interface SharedRow {
  readonly auditId: Promise<string>;
  times: number;
}

/**
 * Rows of the audit log for what happens again and again: for ten minutes from the first time on, what has the same key shares a row,
 * which says how often it happened.
 */
export class SharedAuditRows {
  readonly #database: GatewayDatabase;
  readonly #rows: LRUCache<string, SharedRow>;

  constructor(database: GatewayDatabase, clock: Clock) {
    this.#database = database;
    const perf = { now: () => clock.nowMs() };
    this.#rows = new LRUCache({ max: 1_000, ttl: shareMs, noUpdateTTL: true, ttlResolution: 0, perf });
  }

  /** How many rows may get shared now. */
  get size(): number {
    this.#rows.purgeStale();
    return this.#rows.size;
  }

  /**
   * @param isDue whether a number of times is to be written down.
   * @param detailsOf what the row says then.
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
