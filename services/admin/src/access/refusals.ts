import type { GatewayDatabase } from '@gateway/database';
import type { Counter, Logger, Metrics } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import { SharedAuditRows } from './shared-audit-rows.ts';
import { networkOf } from './sign-in-throttle.ts';

/** A refused request. */
export interface Refusal {
  readonly reason: 'host' | 'origin' | 'cross_site' | 'csrf' | 'role' | 'session' | 'sign_in';
  /** The caller. Empty if it could not sign in. */
  readonly actor: string;
  readonly address: string;
  /** The request: "TokenService.IssueToken", "Host evil.example". */
  readonly subject: string;
}

/**
 * Counts, logs and audits refusals. Repeated attempts would fill the audit log, so refusals for the
 * same reason, of the same operator and address, share a row for ten minutes. The row is updated at
 * 1, 10, 100 and so on. With more than a hundred such rows, further addresses share theirs.
 */
export class Refusals {
  readonly #logger: Logger;
  readonly #counter: Counter<'reason'>;
  readonly #rows: SharedAuditRows;

  constructor(parts: { database: GatewayDatabase; logger: Logger; metrics: Metrics }) {
    this.#logger = parts.logger;
    this.#counter = parts.metrics.counter({
      name: 'gateway_admin_refusals_total',
      help: 'Rejected requests to the admin port, by reason.',
      labels: ['reason'],
    });
    this.#rows = new SharedAuditRows(parts.database);
  }

  /** Never fails: a request stays refused if the database is away. */
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
    if (!this.#rows.has(key)) this.#logger.warn({ reason, actor, address, subject }, 'request refused');
    const entry = { atMs: epochMs(), actor, address, action: `${actions[reason]}.refuse`, subject };
    await this.#rows.note(key, { ...entry, outcome: 'refused' }, (times) => /^10+$/.test(String(times)));
  }

  #isCrowded(): boolean {
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

const mostRows = 100;
