import type { Environment } from '@gateway/config';
import { readRequiredKeys } from '@gateway/pool-broker/credentials/credential-config';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { type RotationProgress, rotateKeys } from '@gateway/pool-broker/credentials/rotate-keys';
import { openStoredAccounts } from '../../control-plane/stored-accounts.ts';
import type { Terminal } from '../../output/terminal.ts';

/** Encrypts everything with the current key, and tells how far it is. */
export async function rotateAccountKeys(env: Environment, terminal: Pick<Terminal, 'note'>): Promise<RotationProgress> {
  const encryption = new Encryption(readRequiredKeys(env));
  await using stored = await openStoredAccounts(env);
  let progress: RotationProgress = { total: 0, done: 0, refused: [] };
  for await (progress of rotateKeys(stored.database, encryption)) {
    if (isWorthALine(progress))
      terminal.note(`${progress.done} of ${progress.total} are sealed with ${encryption.currentKeyId}`);
  }
  for (const place of progress.refused) terminal.note(`can't be opened with any of ACCOUNT_KEYS: ${place}`);
  return progress;
}

/** The first, the last, and now and then one between them. */
function isWorthALine({ total, done, refused }: RotationProgress): boolean {
  const seen = done + refused.length;
  return seen === 0 || seen === total || seen % 100 === 0;
}
