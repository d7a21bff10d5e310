import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

/** One row of the ledger. */
export interface LedgerRow {
  readonly requestId: string;
  readonly tokenId: string;
  readonly admittedAtMs: number;
  readonly localDay: string;
  readonly endpoint: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly estimated: boolean;
  readonly outcome: string;
}

export interface DailyTotal {
  readonly tokenId: string;
  readonly tokens: number;
  readonly requests: number;
}

/** Direct access to the ledger, without the services, with control of its commits. */
export class LedgerTap {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async rows(): Promise<readonly LedgerRow[]> {
    const rows = await this.query('SELECT * FROM usage_events');
    return rows.map((row) => ({
      requestId: String(row.request_id),
      tokenId: String(row.token_id),
      admittedAtMs: Number(row.admitted_at_ms),
      localDay: String(row.local_day),
      endpoint: String(row.endpoint),
      model: String(row.model),
      inputTokens: Number(row.input_tokens),
      cachedTokens: Number(row.cached_tokens),
      outputTokens: Number(row.output_tokens),
      estimated: Number(row.estimated) === 1,
      outcome: String(row.outcome),
    }));
  }

  /** The daily sums by token. */
  async dailyTotals(): Promise<readonly DailyTotal[]> {
    const rows = await this.query(
      'SELECT token_id, sum(input_tokens + output_tokens) AS tokens, sum(requests) AS requests FROM usage_daily GROUP BY token_id',
    );
    return rows.map((row) => ({
      tokenId: String(row.token_id),
      tokens: Number(row.tokens),
      requests: Number(row.requests),
    }));
  }

  async deadLetters(): Promise<number> {
    const [row] = await this.query('SELECT count(*) AS letters FROM dead_letters');
    return Number(row?.letters);
  }

  /** Process ids of the backends that serve a service. */
  async backendsOf(service: string): Promise<readonly number[]> {
    const rows = await this.query(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
      [service],
    );
    return rows.map(({ pid }) => Number(pid));
  }

  /** Puts an open gate before every commit that changes the daily sums. */
  async buildCommitGate(): Promise<void> {
    await this.query(`
      CREATE FUNCTION pass_commit_gate() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER commit_gate AFTER INSERT OR UPDATE ON usage_daily
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pass_commit_gate()`);
  }

  /** Closes the gate until it is disposed: commits wait at it, in the middle of their COMMIT. */
  async closeCommitGate(): Promise<AsyncDisposable> {
    const client = await this.#connect();
    await client.query(`SELECT pg_advisory_lock(${gate})`);
    return { [Symbol.asyncDispose]: () => client.end() };
  }

  /**
   * Resolves with the number of commits at the gate as soon as there is one, or with 0 in the end.
   */
  async waitForCommits(timeoutMs: number): Promise<number> {
    for (const giveUpAt = Date.now() + timeoutMs; Date.now() < giveUpAt; await sleep(20)) {
      const rows = await this.query(
        // A statement that is its own transaction commits at its end; taking a lock by name is not
        // such a statement.
        `SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND query NOT ILIKE '%pg_advisory%'`,
      );
      if (rows.length > 0) return rows.length;
    }
    return 0;
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = await this.#connect();
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: this.#url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}

/** Any number that no other code locks. */
const gate = 7_251;
