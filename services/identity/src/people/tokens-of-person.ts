import type { Database, PeopleTable, PersonSessionsTable } from '@gateway/database';
import { type Selectable, sql, type Transaction } from 'kysely';
import { neverMs, nextSequence } from '../store/token-store.ts';

/** Gives the tokens of a person the person's group, and those that the person issued their end. */
export async function followPerson(
  transaction: Transaction<Database>,
  { person_id, group_id, tokens_until_ms }: Selectable<PeopleTable>,
): Promise<void> {
  const change_sequence = await nextSequence(transaction);
  const untilMs = tokens_until_ms ?? neverMs;
  const expiry = sql<number | null>`nullif(
    case when wanted_expiry_ms > ${untilMs} then ${untilMs} else coalesce(wanted_expiry_ms, expires_at_ms) end,
    ${neverMs})`;
  await transaction
    .updateTable('tokens')
    .set({ change_sequence, group_id, expires_at_ms: expiry, revision: sql`revision + 1` })
    .where('person_id', '=', person_id)
    .where('revoked_at_ms', 'is', null)
    .where(({ or }) =>
      or([
        sql<boolean>`coalesce(group_id, '') <> ${group_id ?? ''}`,
        sql<boolean>`coalesce(expires_at_ms, ${neverMs}) <> coalesce(${expiry}, ${neverMs})`,
      ]),
    )
    .execute();
}

/** Revokes the tokens of these sessions, or all tokens of the person. */
export async function revokeTokens(
  transaction: Transaction<Database>,
  personId: string,
  sessions: readonly Selectable<PersonSessionsTable>[] | undefined,
  nowMs: number,
): Promise<void> {
  const change_sequence = await nextSequence(transaction);
  await transaction
    .updateTable('tokens')
    .set({ revoked_at_ms: nowMs, change_sequence, revision: sql`revision + 1` })
    .where('person_id', '=', personId)
    .where('revoked_at_ms', 'is', null)
    .$if(sessions !== undefined, (query) =>
      query.where('token_id', 'in', sessions?.map(({ token_id }) => token_id) ?? []),
    )
    .execute();
}
