import { type Kysely, sql } from 'kysely';

/** Warnings to receivers. A receiver gets one message for each cause in a period. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table alerts (
      alert_id text not null primary key,
      receiver text not null,
      cause text not null,
      period text not null,
      kind text not null,
      subject text not null,
      text text not null,
      link text not null,
      details text not null,
      state text not null,
      attempts bigint not null,
      answer text not null,
      created_at_ms bigint not null,
      due_at_ms bigint not null,
      ended_at_ms bigint,
      constraint alerts_cause unique (receiver, cause, period)
    )`.execute(database);
  await sql`create index alerts_by_due on alerts (state, due_at_ms)`.execute(database);
  await sql`create index alerts_by_time on alerts (created_at_ms, alert_id)`.execute(database);
}
