import { type OAuthCredential, Secret } from '@gateway/config';
import { z } from 'zod';
import type { Sealer } from '../sealing/sealer.ts';
import { type Grant, newGrant } from './grant.ts';
import type { StoredGrant } from './grant-store.ts';

/** What is stored of an account can't be opened. The first refresh token is no way out: it may have been replaced. */
export class UnreadableGrantError extends Error {
  override readonly name = 'UnreadableGrantError';
  readonly reason: 'unknown_key' | 'damaged';

  constructor(reason: 'unknown_key' | 'damaged') {
    super(`The tokens of an account can't be opened: ${reason}.`);
    this.reason = reason;
  }
}

/** What is stored, as the grant of a credential. @throws UnreadableGrantError */
export function toGrant(
  sealer: Sealer,
  { accountId, credential }: { readonly accountId: string; readonly credential: OAuthCredential },
  stored: StoredGrant | undefined,
): Grant {
  if (stored === undefined) return newGrant(credential);
  const { version, tokens, problem } = stored;
  const opened = sealer.open({ accountId, field: 'tokens' }, tokens);
  if (opened.kind === 'refused') throw new UnreadableGrantError(opened.reason);
  return { version, problem, ...fromText(opened.text) };
}

export function toStoredGrant(sealer: Sealer, accountId: string, grant: Grant): StoredGrant {
  const { version, problem } = grant;
  return { version, problem, tokens: sealer.seal({ accountId, field: 'tokens' }, toText(grant)) };
}

const tokensSchema = z.object({
  refreshToken: z.string(),
  access: z.object({ token: z.string(), issuedAtMs: z.number(), expiresAtMs: z.number() }).optional(),
});

function toText({ refreshToken, access }: Grant): string {
  const tokens: z.infer<typeof tokensSchema> = {
    refreshToken: refreshToken.reveal(),
    access: access && { ...access, token: access.token.reveal() },
  };
  return JSON.stringify(tokens);
}

/** @throws UnreadableGrantError for what an owner of the key wrote, but not as we write it. */
function fromText(text: string): Pick<Grant, 'refreshToken' | 'access'> {
  const { data } = tokensSchema.safeParse(parseJson(text));
  if (data === undefined) throw new UnreadableGrantError('damaged');
  const { refreshToken, access } = data;
  return {
    refreshToken: new Secret(refreshToken),
    access: access && { ...access, token: new Secret(access.token) },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
