import { type Kysely, sql } from 'kysely';

/** The network that asked for a device grant, so that none can fill the room for grants. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table device_grants add column network text not null default ''`.execute(database);
}
