import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultScene } from '../injections/injection.ts';
import { readOutboxes } from './read-outboxes.ts';

export interface Quiet {
  readonly afterMs: number;
  /** The parts that were not idle in time; empty if all were. */
  readonly restless: readonly string[];
}

/** Resolves when no usage is in transit: outboxes, stream and providers are empty and idle. */
export async function waitForQuiet(field: FaultScene, timeoutMs: number): Promise<Quiet> {
  const startMs = Date.now();
  let rowsBefore = -1;
  for (;;) {
    const { restless, rows } = await lookAround(field).catch((thrown: unknown) => ({
      restless: [`it can't be seen yet: ${String(thrown)}`],
      rows: -1,
    }));
    const isStill = restless.length === 0 && rows === rowsBefore;
    const afterMs = Date.now() - startMs;
    if (isStill || afterMs > timeoutMs) return { afterMs, restless };
    rowsBefore = rows;
    await sleep(500);
  }
}

async function lookAround({ gateway, stream, ledger, effects }: FaultScene) {
  const backlog = await stream.backlog();
  const rows = await ledger.rows();
  const stored = new Set(rows.map(({ requestId }) => requestId));
  const owed = await readOutboxes(dataFoldersOf(gateway.replicas['edge-router']));
  const requestIds = [...new Set(owed.map(({ requestId }) => requestId))];
  const missing = requestIds.filter((requestId) => !stored.has(requestId) && !effects.wiped.has(requestId));
  const running = gateway.simulator.requests({ outcome: 'running' }).length;
  const restless = [
    ...(backlog > 0 ? [`${backlog} messages in the stream`] : []),
    ...(missing.length > 0 ? [`${missing.length} requests in outboxes: ${missing.slice(0, 5).join(', ')}`] : []),
    ...(running > 0 ? [`${running} requests at the providers`] : []),
  ];
  return { restless, rows: rows.length };
}

export function dataFoldersOf(edges: readonly { readonly dataFolder?: string }[]): readonly string[] {
  return edges.flatMap(({ dataFolder }) => dataFolder ?? []);
}
