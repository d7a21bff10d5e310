import type { Operator } from '../../client/operator.ts';
import { issueToken } from '../../client/tokens.ts';

/**
 * Service tokens that share the load, as the clients of a busy gateway would. Both limits apply to
 * them, but no run can reach these.
 */
export async function issueTokens(operator: Operator, count = 16): Promise<readonly string[]> {
  const limits = { requestsPerMinute: 10_000_000, tokensPerDay: 1_000_000_000_000 };
  const issued: string[] = [];
  while (issued.length < count) {
    const batch = Array.from({ length: Math.min(100, count - issued.length) }, () => issueToken({ operator }, limits));
    issued.push(...(await Promise.all(batch)).map(({ text }) => text));
  }
  return issued;
}
