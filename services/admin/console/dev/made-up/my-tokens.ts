import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type { MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import { type Token, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';

const maxDays = 30;
const tokens: Token[] = [];

/** People may issue tokens here. */
export const myTokenService: Partial<ServiceImpl<typeof MyTokenService>> = {
  listMyTokens: () => ({
    tokens,
    rules: { mayIssue: true, maxDays },
    models: { chat: 'gateway/sterk', small: 'gateway/snel', messages: 'gateway/sterk', responses: 'gpt-5.5' },
  }),
  issueMyToken({ label }) {
    const expiresAtMs = Date.now() + maxDays * 86_400_000;
    const details = { tokenId: `my-${tokens.length}`, kind: TokenKind.PERSONAL, label, expiresAtMs };
    const token = create(TokenSchema, { ...details, createdAtMs: Date.now() });
    tokens.unshift(token);
    return { token, tokenText: 'gw_p_made-up' };
  },
  rotateMyToken: ({ tokenId }) => ({ token: find(tokenId), tokenText: 'gw_p_made-up-again' }),
  revokeMyToken({ tokenId }) {
    const token = find(tokenId);
    tokens.splice(tokens.indexOf(token), 1);
    return { token };
  },
};

function find(tokenId: string): Token {
  const found = tokens.find((each) => each.tokenId === tokenId);
  if (found === undefined) throw new Error(`no token ${tokenId}`);
  return found;
}
