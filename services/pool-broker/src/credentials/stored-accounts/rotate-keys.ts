import type { GatewayDatabase } from '@gateway/database';
import type { Sealed, SealedPlace, Sealer } from '../sealing/sealer.ts';

export interface RotationProgress {
  readonly total: number;
  /** Sealed with the current key by now, whoever did it. */
  readonly done: number;
  /** Can't be opened with any of the keys: left as they are. */
  readonly refused: readonly string[];
}

/**
 * Seals everything anew that was sealed with another key than the current one, while gateways run: what changes meanwhile is theirs.
 * Running it again does what is left.
 */
export async function* rotateKeys(database: GatewayDatabase, sealer: Sealer): AsyncGenerator<RotationProgress> {
  const places = await placesOf(database);
  const refused: string[] = [];
  let done = 0;
  yield { total: places.length, done, refused: [] };
  for (const place of places) {
    if (await reseal(database, sealer, place)) done++;
    else refused.push(`${place.accountId} (${place.field})`);
    yield { total: places.length, done, refused: [...refused] };
  }
}

interface Place extends SealedPlace {
  /** Of tokens: the credential that they descend from. */
  readonly origin: string;
}

async function placesOf(database: GatewayDatabase): Promise<readonly Place[]> {
  const accounts = await database.selectFrom('accounts').select('account_id').orderBy('account_id').execute();
  const grants = await database
    .selectFrom('account_grants')
    .select(['account_id', 'origin'])
    .where('tokens', 'is not', null)
    .orderBy('account_id')
    .execute();
  return [
    ...accounts.map(({ account_id }) => ({ accountId: account_id, field: 'credential' as const, origin: '' })),
    ...grants.map(({ account_id, origin }) => ({ accountId: account_id, field: 'tokens' as const, origin })),
  ];
}

/** False when it can't be opened. */
async function reseal(database: GatewayDatabase, sealer: Sealer, place: Place): Promise<boolean> {
  for (;;) {
    const before = await read(database, place);
    if (before === undefined || before.keyId === sealer.currentKeyId) return true;
    const opened = sealer.open(place, before);
    if (opened.kind === 'refused') return false;
    const after = sealer.seal(place, opened.text);
    if (await replace(database, place, { before: before.text, after })) return true;
    // A refresh has replaced it in between.
  }
}

async function read(database: GatewayDatabase, { accountId, field, origin }: Place): Promise<Sealed | undefined> {
  if (field === 'credential') {
    return await database
      .selectFrom('accounts')
      .select(['key_id as keyId', 'credential as text'])
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }
  const row = await database
    .selectFrom('account_grants')
    .select(['key_id', 'tokens'])
    .where('account_id', '=', accountId)
    .where('origin', '=', origin)
    .executeTakeFirst();
  if (row === undefined || row.tokens === null || row.key_id === null) return undefined;
  return { keyId: row.key_id, text: row.tokens };
}

interface Replacement {
  readonly before: string;
  readonly after: Sealed;
}

/** False when it is another one by now. */
async function replace(
  database: GatewayDatabase,
  { accountId, field, origin }: Place,
  { before, after }: Replacement,
): Promise<boolean> {
  const { numUpdatedRows } =
    field === 'credential'
      ? await database
          .updateTable('accounts')
          .set({ credential: after.text, key_id: after.keyId })
          .where('account_id', '=', accountId)
          .where('credential', '=', before)
          .executeTakeFirstOrThrow()
      : await database
          .updateTable('account_grants')
          .set({ tokens: after.text, key_id: after.keyId })
          .where('account_id', '=', accountId)
          .where('origin', '=', origin)
          .where('tokens', '=', before)
          .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
