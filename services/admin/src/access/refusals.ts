import type { GatewayDatabase } from '@gateway/database';
import type { Counter, Logger, Metrics } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { noteInAudit } from './audit-trail.ts';
import { networkOf } from './sign-in-throttle.ts';

/** Something that was refused. */
export interface Refusal {
  readonly reason: 'host' | 'origin' | 'cross_site' | 'csrf' | 'role' | 'session' | 'sign_in';
  /** Empty: who could not sign in. */
  readonly actor: string;
  readonly address: string;
  /** What was asked for: "TokenService.IssueToken", "Host evil.example". */
  readonly subject: string;
}

interface Listed {
  readonly auditId: Promise<string>;
  times: number;
}

/**
 * Counts, logs and audits what is refused. Whoever tries again and again would fill the audit log: refusals for the same reason, of the
 * same operator and address, share a row for ten minutes. It says how many there were, once there are 1, 10, 100 and so on. With more
 * than a hundred such rows, further addresses share theirs.
 */
export class Refusals {
  readonly #database: GatewayDatabase;
  readonly #logger: Logger;
  readonly #counter: Counter<'reason'>;
  readonly #clock: Clock;
  readonly #rows: LRUCache<string, Listed>;

  constructor(parts: { database: GatewayDatabase; logger: Logger; metrics: Metrics; clock: Clock }) {
    this.#database = parts.database;
    this.#logger = parts.logger;
    this.#clock = parts.clock;
    this.#counter = parts.metrics.counter({
      name: 'gateway_admin_refusals_total',
      help: 'Requests to the admin port that were refused, by the reason.',
      labels: ['reason'],
    });
    const perf = { now: () => parts.clock.nowMs() };
    this.#rows = new LRUCache({ max: 1_000, ttl: shareMs, noUpdateTTL: true, ttlResolution: 0, perf });
  }

  /** Never fails: what is refused is refused, also while the database is away. */
  async note(refusal: Refusal): Promise<void> {
    this.#counter.inc({ reason: refusal.reason });
    try {
      await this.#audit(refusal);
    } catch (thrown) {
      this.#logger.error({ err: thrown, ...refusal }, 'a refusal could not be written to the audit log');
    }
  }

  async #audit({ reason, actor, address, subject }: Refusal): Promise<void> {
    const key = JSON.stringify([reason, actor, this.#isCrowded() ? '' : networkOf(address)]);
    const listed = this.#rows.get(key);
    if (listed === undefined) {
      this.#logger.warn({ reason, actor, address, subject }, 'refused');
      const entry = { atMs: this.#clock.nowMs(), actor, address, action: `${actions[reason]}.refuse`, subject };
      const auditId = noteInAudit(this.#database, { ...entry, outcome: 'refused', after: { times: 1 } });
      this.#rows.set(key, { auditId, times: 1 });
      auditId.catch(() => this.#rows.delete(key));
      await auditId;
      return;
    }
    listed.times++;
    if (!/^10+$/.test(String(listed.times))) return;
    const details = JSON.stringify({ after: { times: listed.times } });
    await this.#database
      .updateTable('audit_log')
      .set({ details })
      .where('audit_id', '=', await listed.auditId)
      .execute();
  }

  #isCrowded(): boolean {
    if (this.#rows.size < mostRows) return false;
    this.#rows.purgeStale();
    return this.#rows.size >= mostRows;
  }
}

const actions = {
  host: 'page',
  origin: 'page',
  cross_site: 'page',
  csrf: 'call',
  role: 'call',
  session: 'session',
  sign_in: 'session',
} as const satisfies Record<Refusal['reason'], string>;

const shareMs = 600_000;
const mostRows = 100;
