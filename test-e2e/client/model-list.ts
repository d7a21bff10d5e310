import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';

export interface ListedModel {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly owned_by: string;
  readonly name: string;
}

/** GET /v1/models. Throws unless the status is 200. */
export async function listModels({ baseUrl }: Topology, token: string): Promise<readonly ListedModel[]> {
  const response = await fetch(`${baseUrl}/v1/models`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(roomMs(10_000)),
  });
  if (response.status !== 200) throw new Error(`models answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { readonly data: readonly ListedModel[] }).data;
}
