import type { AlertsTable, GatewayDatabase } from '@gateway/database';
import { epochMs, timeOrderedId } from '@gateway/time';
import type { Selectable } from 'kysely';
import type { Cause } from './causes.ts';

export type AlertRow = Selectable<AlertsTable>;

/** How an attempt ended. */
export interface AttemptEnding {
  /** `retry`: another attempt follows. */
  readonly state: 'sent' | 'failed' | 'retry';
  readonly answer: string;
  /** When the next attempt is due. */
  readonly dueAtMs?: number;
}

/**
 * The messages to receivers. A replica claims a row before each attempt, so that no other one makes
 * the same attempt. If it dies, the claim ends, and another replica repeats the attempt.
 */
export class AlertStore {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** Adds the messages that do not exist yet: one per receiver, cause and period. */
  async note(causes: readonly { readonly receiver: string; readonly cause: Cause }[]): Promise<void> {
    for (let start = 0; start < causes.length; start += rowsAtOnce) {
      const rows = causes.slice(start, start + rowsAtOnce).map(({ receiver, cause }) => this.#row(receiver, cause));
      await this.#database
        .insertInto('alerts')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['receiver', 'cause', 'period']).doNothing())
        .execute();
    }
  }

  /** Adds a message whose first attempt the caller makes at once. */
  async begin(receiver: string, cause: Cause): Promise<AlertRow> {
    const row = { ...this.#row(receiver, cause), attempts: 1, due_at_ms: epochMs() + claimMs };
    return await this.#database.insertInto('alerts').values(row).returningAll().executeTakeFirstOrThrow();
  }

  /** The first messages to this receiver whose next attempt is due, the oldest first. */
  async due(receiver: string): Promise<readonly AlertRow[]> {
    return await this.#waiting([receiver])
      .selectAll()
      .where('due_at_ms', '<=', epochMs())
      .orderBy('created_at_ms')
      .orderBy('alert_id')
      .limit(sentAtOnce)
      .execute();
  }

  /** When the next attempt is due. Undefined if no message waits. */
  async nextDueMs(receivers: readonly string[]): Promise<number | undefined> {
    const first = await this.#waiting(receivers).select('due_at_ms').orderBy('due_at_ms').limit(1).executeTakeFirst();
    return first?.due_at_ms;
  }

  /** Lets all messages to a receiver wait that does not answer at present. */
  async postpone(receiver: string, dueAtMs: number): Promise<void> {
    const due_at_ms = Math.min(dueAtMs, epochMs() + longestPostponementMs);
    await this.#database
      .updateTable('alerts')
      .set({ due_at_ms })
      .where('state', '=', 'waiting')
      .where('receiver', '=', receiver)
      .where('due_at_ms', '<', due_at_ms)
      .execute();
  }

  /** Begins an attempt. Undefined: another replica has begun it. */
  async claim({ alert_id, due_at_ms }: AlertRow): Promise<AlertRow | undefined> {
    return await this.#database
      .updateTable('alerts')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), due_at_ms: epochMs() + claimMs }))
      .where('alert_id', '=', alert_id)
      .where('state', '=', 'waiting')
      .where('due_at_ms', '=', due_at_ms)
      .returningAll()
      .executeTakeFirst();
  }

  /** Ends the attempt that was claimed as this row, unless its claim has ended. */
  async end({ alert_id, attempts, due_at_ms }: AlertRow, ending: AttemptEnding): Promise<AlertRow | undefined> {
    const { state, answer, dueAtMs = due_at_ms } = ending;
    const ended_at_ms = state === 'retry' ? null : epochMs();
    return await this.#database
      .updateTable('alerts')
      .set({ state: state === 'retry' ? 'waiting' : state, answer, due_at_ms: dueAtMs, ended_at_ms })
      .where('alert_id', '=', alert_id)
      .where('state', '=', 'waiting')
      .where('attempts', '=', attempts)
      .returningAll()
      .executeTakeFirst();
  }

  /** The newest first. */
  async list(last: number): Promise<readonly AlertRow[]> {
    const rows = this.#database.selectFrom('alerts').selectAll();
    return await rows.orderBy('created_at_ms', 'desc').orderBy('alert_id', 'desc').limit(last).execute();
  }

  /**
   * Gives up messages that have waited for a day, such as those to a receiver that was removed, and
   * removes rows of periods that have ended long ago.
   */
  async clean(): Promise<void> {
    const nowMs = epochMs();
    await this.#database
      .updateTable('alerts')
      .set({ state: 'failed', ended_at_ms: nowMs })
      .where('state', '=', 'waiting')
      .where('created_at_ms', '<', nowMs - dayMs)
      .execute();
    await this.#database
      .deleteFrom('alerts')
      .where('created_at_ms', '<', nowMs - retentionDays * dayMs)
      .execute();
  }

  #waiting(receivers: readonly string[]) {
    return this.#database.selectFrom('alerts').where('state', '=', 'waiting').where('receiver', 'in', receivers);
  }

  #row(receiver: string, { details, ...cause }: Cause): AlertRow {
    const nowMs = epochMs();
    return {
      ...{ alert_id: `msg_${timeOrderedId()}`, receiver, ...cause, details: JSON.stringify(details) },
      ...{ state: 'waiting', attempts: 0, answer: '', created_at_ms: nowMs, due_at_ms: nowMs, ended_at_ms: null },
    };
  }
}

const rowsAtOnce = 500;
const sentAtOnce = 20;
const longestPostponementMs = 60_000;
/** Longer than an attempt can take. */
const claimMs = 60_000;
const dayMs = 86_400_000;
/** Longer than the longest period, in which a cause must not be reported again. */
export const retentionDays = 90;
