import { type IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Client } from '@gateway/rpc';
import { tokenSha256 } from '@gateway/tokens';
import type { DataFolder } from './data-folder.ts';

export interface Welcome {
  readonly baseUrl: string;
  readonly adminUrl: string;
  /** Absent when it was shown before, or when the gateway works on a shared database. */
  readonly token: string | undefined;
  /** Set when no provider account is configured. */
  readonly simulatorUrl: string | undefined;
}

/** What a person sees once the gateway runs: where it is, and a line to paste. */
export function welcomeText({ baseUrl, adminUrl, token, simulatorUrl }: Welcome): string {
  const messages = [{ role: 'user', content: 'Hello there' }];
  const body = JSON.stringify({ model: 'gateway/sterk', stream: true, messages });
  const providers = `
  Providers               simulated, at ${simulatorUrl}
                          set OPENAI_API_KEY and/or ANTHROPIC_API_KEY, or GATEWAY_CONFIG, for real ones`;
  const tokenLine =
    token === undefined
      ? '\n  Make a token with       npm run gatewayctl -- token create --label my-first'
      : `  Token                   ${token}${simulatorUrl === undefined ? '   (shown only now)' : ''}`;
  return `
  The gateway listens on  ${baseUrl}
  Operators               ${adminUrl}   (/livez /readyz /metrics, gatewayctl)${simulatorUrl === undefined ? '' : providers}
${tokenLine}

  Try it:

curl -N ${baseUrl}/v1/chat/completions -H 'Authorization: Bearer ${token ?? '<token>'}' -H 'Content-Type: application/json' -d '${body}'

`;
}

const file = 'first-token';

/**
 * A token for trying the gateway out on simulated providers, for every start. It is kept in the data folder, because the
 * database holds only digests. A new one is made when there is none, or when it was revoked.
 */
export async function firstTokenForTrying(identity: Client<typeof IdentityService>, data: DataFolder): Promise<string> {
  const kept = await data.read(file);
  if (kept !== undefined) {
    const { token } = await identity.resolve({ tokenSha256: tokenSha256(kept) });
    if (token !== undefined) return kept;
  }
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
  await data.write(file, 'shown once, at the first start');
  return tokenText;
}

async function issue(identity: Client<typeof IdentityService>): Promise<string> {
  const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000n };
  return (await identity.issue({ kind: TokenKind.SERVICE, label: 'first token', limits })).tokenText;
}
