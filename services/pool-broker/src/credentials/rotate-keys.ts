import type { Envelope } from '@gateway/config/encryption';
import type { GatewayDatabase } from '@gateway/database';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Encryption, EnvelopePlace } from './encryption.ts';

export interface RotationProgress {
  readonly total: number;
  /** How many are encrypted with the current key, whichever process did it. */
  readonly done: number;
  /** Those that none of the keys can decrypt: they stay as they are. */
  readonly refused: readonly string[];
}

/**
 * Encrypts everything again that was encrypted with an older key, while gateways run: their
 * concurrent changes are kept. Running it again completes the rest.
 */
export async function* rotateKeys(database: GatewayDatabase, encryption: Encryption): AsyncGenerator<RotationProgress> {
  const places = [...(await placesIn(database, 'credential')), ...(await placesIn(database, 'tokens'))];
  const refused: string[] = [];
  let done = 0;
  yield { total: places.length, done, refused: [] };
  for (const place of places) {
    if (await encryptAnew(database, encryption, place)) done++;
    else refused.push(`${place.accountId} (${place.field})`);
    yield { total: places.length, done, refused: [...refused] };
  }
}

const tableOf = { credential: sql.table('accounts'), tokens: sql.table('account_grants') };

async function placesIn(database: GatewayDatabase, field: EnvelopePlace['field']): Promise<readonly EnvelopePlace[]> {
  const query = sql<{ account_id: string }>`
    select distinct account_id from ${tableOf[field]} where ${sql.ref(field)} is not null order by account_id`;
  const { rows } = await query.execute(database);
  return rows.map(({ account_id }) => ({ accountId: account_id, field }));
}

/** False when one of an account's envelopes can't be decrypted. */
async function encryptAnew(database: GatewayDatabase, encryption: Encryption, place: EnvelopePlace): Promise<boolean> {
  const [table, column] = [tableOf[place.field], sql.ref(place.field)];
  for (;;) {
    const { rows } = await sql<Envelope>`
      select key_id as "keyId", ${column} as text from ${table}
      where account_id = ${place.accountId} and key_id <> ${encryption.currentKeyId}`.execute(database);
    const anew = rows.flatMap((before) => {
      try {
        return [{ before, after: encryption.encrypt(place, encryption.decrypt(place, before, z.unknown())) }];
      } catch {
        return [];
      }
    });
    if (anew.length === 0) return rows.length === 0;
    for (const { before, after } of anew) {
      // Changes nothing when a refresh has replaced the row in between: the next check detects it.
      await sql`
        update ${table} set ${column} = ${after.text}, key_id = ${after.keyId}
        where account_id = ${place.accountId} and ${column} = ${before.text}`.execute(database);
    }
  }
}
