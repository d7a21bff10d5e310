import type { Topology } from '../topologies/topology.ts';

/** A trace as JSON has it, as far as tests look at it: members without a value are absent. */
export interface TraceJson {
  readonly requestId: string;
  readonly ending: string;
  readonly status?: number;
  readonly errorCode?: string;
  readonly moved?: boolean;
  readonly attempts?: readonly AttemptJson[];
  readonly noAccount?: { readonly cause: string; readonly retryAt?: string };
  readonly usage?: { readonly inputTokens?: string; readonly outputTokens?: string };
}

export interface AttemptJson {
  readonly accountId: string;
  readonly reason?: string;
  readonly result: string;
  readonly upstreamStatus?: number;
  readonly retryAt?: string;
  readonly amended?: string;
  readonly givenUp?: string;
  readonly skipped?: readonly { readonly pool: string; readonly reason: string; readonly count: number }[];
}

/** The latest requests of a token, newest first, as an operator's HTTP client would ask the edge for them. */
export async function tracesOf(
  { edgeAdminUrl }: Pick<Topology, 'edgeAdminUrl'>,
  tokenId: string,
): Promise<readonly TraceJson[]> {
  const response = await fetch(`${edgeAdminUrl}/gateway.edge.v1.RequestTraceService/ListTraces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tokenId, limit: 100 }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`ListTraces answered ${response.status}: ${await response.text()}`);
  const { traces = [] } = (await response.json()) as { readonly traces?: readonly TraceJson[] };
  return traces;
}
