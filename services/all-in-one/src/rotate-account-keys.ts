import { createContextValues } from '@connectrpc/connect';
import { AuditTrail } from '@gateway/admin/access/audit-trail';
import { callerKey } from '@gateway/admin/access/caller';
import { ConfigError, type Environment } from '@gateway/config';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { rotateKeys } from '@gateway/pool-broker/credentials/rotate-keys';
import { openCurrentDatabase, readRotationKeys } from './gateway-database.ts';
import { thisMachine } from './this-machine.ts';

/**
 * Encrypts all credentials with the current key, and records it in the audit log. Reports progress:
 * the database, the first and last count, and some between them.
 *
 * @throws ConfigError that names what none of the keys can decrypt.
 */
export async function rotateAccountKeys(env: Environment, report: (line: string) => void): Promise<void> {
  const encryption = new Encryption(await readRotationKeys(env));
  await using database = await openCurrentDatabase(env);
  report(`re-encrypting in ${database.description}`);
  const audit = new AuditTrail(database.handle);
  const context = { values: createContextValues().set(callerKey, thisMachine) };
  const change = { action: 'account.rotate_keys', subject: encryption.currentKeyId };
  const refused = await audit.change(context, change, async () => {
    let last = { total: 0, done: 0, refused: [] as readonly string[] };
    for await (const progress of rotateKeys(database.handle, encryption)) {
      last = progress;
      const seen = progress.done + progress.refused.length;
      if (seen % 100 !== 0 && seen !== progress.total) continue;
      report(`${progress.done} of ${progress.total} are encrypted with ${encryption.currentKeyId}`);
    }
    return { answer: last.refused, after: last };
  });
  if (refused.length > 0)
    throw new ConfigError(refused.map((place) => `can't be decrypted with any of ACCOUNT_KEYS: ${place}`));
}
