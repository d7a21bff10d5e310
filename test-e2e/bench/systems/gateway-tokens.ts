import { issueToken } from '../../client/tokens.ts';

/** So many tokens share the load, as the clients of a busy gateway would. */
const tokenCount = 16;

/** Service tokens that both limits hold for, though no run can reach them. */
export async function issueTokens(identityAdminUrl: string): Promise<readonly string[]> {
  const issued = Array.from({ length: tokenCount }, () =>
    issueToken({ adminUrl: identityAdminUrl }, { requestsPerMinute: 10_000_000, tokensPerDay: 1_000_000_000_000 }),
  );
  return (await Promise.all(issued)).map(({ text }) => text);
}
