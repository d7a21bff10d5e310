import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';

export interface UsageTotals {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

export interface UsagePeriod extends UsageTotals {
  readonly since: string;
  readonly byModel: readonly (UsageTotals & { readonly provider: string; readonly model: string })[];
}

export interface Limit {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAt: string;
}

export interface UsageObject {
  readonly object: string;
  readonly token: { readonly kind: string; readonly label: string };
  readonly timezone: string;
  readonly today: UsagePeriod;
  readonly last7Days: UsagePeriod;
  readonly limits: { readonly requestsPerMinute: Limit | null; readonly tokensPerDay: Limit | null };
}

/** GET /v1/usage. Throws unless the status is 200. */
export async function usageOf({ baseUrl }: Pick<Topology, 'baseUrl'>, token: string): Promise<UsageObject> {
  const response = await fetch(`${baseUrl}/v1/usage`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(roomMs(10_000)),
  });
  if (response.status !== 200) throw new Error(`usage answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as UsageObject;
}
