import { type IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Client } from '@gateway/rpc';
import { tokenSha256 } from '@gateway/tokens';
import type { DataFolder } from './data-folder.ts';

const file = 'first-token';
const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000n };

/**
 * A token for trying the gateway out on simulated providers, for every start. It is kept in the data folder, because the
 * database holds only digests. A new one is made when there is none, or when it was revoked.
 */
export async function firstTokenForTrying(identity: Client<typeof IdentityService>, data: DataFolder): Promise<string> {
  const kept = await data.read(file);
  if (kept !== undefined && (await isValid(identity, kept))) return kept;
  const tokenText = await issue(identity);
  await data.write(file, tokenText);
  return tokenText;
}

/**
 * A token for a gateway whose requests cost money: made and shown once, at the first start on the data folder, and kept
 * nowhere. Undefined when there was a first token already, whatever became of it.
 */
export async function firstTokenOnce(
  identity: Client<typeof IdentityService>,
  data: DataFolder,
): Promise<string | undefined> {
  if ((await data.read(file)) !== undefined) return undefined;
  const tokenText = await issue(identity);
  await data.write(file, shownOnce);
  return tokenText;
}

const shownOnce = 'shown once, at the first start';

async function issue(identity: Client<typeof IdentityService>): Promise<string> {
  const { tokenText } = await identity.issue({ kind: TokenKind.SERVICE, label: 'first token', limits });
  return tokenText;
}

async function isValid(identity: Client<typeof IdentityService>, tokenText: string): Promise<boolean> {
  const { token } = await identity.resolve({ tokenSha256: tokenSha256(tokenText) });
  return token !== undefined;
}
