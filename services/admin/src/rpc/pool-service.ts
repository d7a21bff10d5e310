import { create, equals } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { type PoolOverview, PoolOverviewSchema, type PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { epochMs, sleep } from '@gateway/time';
import { scopedKey } from '@gateway/tokens';
import type { AdminParts } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';
import { checkFields, notFound } from './problems.ts';

/** Pools of accounts, and the classes of models on them, as the broker knows them. */
export function poolService(parts: AdminParts): ServiceImpl<typeof PoolService> {
  const { peers } = parts;
  return {
    async listPools({ pool }, { signal }) {
      const [overview, { models }] = await Promise.all([
        overviewOf(parts, pool, signal),
        peers.broker.listModels({}, peerCall(signal)),
      ]);
      return { overview: { ...overview, atMs: epochMs() }, models };
    },

    async *watchPools({ pool }, { signal }) {
      let shown: PoolOverview | undefined;
      while (!signal.aborted) {
        const overview = await overviewOf(parts, pool, signal);
        if (shown === undefined || !equals(PoolOverviewSchema, shown, overview)) {
          yield { overview: { ...overview, atMs: epochMs() } };
          shown = overview;
        }
        await sleep(everyMs, { signal }).catch(() => undefined);
      }
    },

    async explainModel({ model, sessionId, tokenId }, { signal }) {
      checkFields({
        ...(model === '' && { model: 'Enter a class or a model id.' }),
        ...(sessionId !== '' && tokenId === '' && { tokenId: 'Enter the token of the session.' }),
      });
      const affinityKey = sessionId === '' ? '' : scopedKey(tokenId, sessionId);
      const { candidates } = await peers.broker.explain({ model, affinityKey }, peerCall(signal));
      return { candidates };
    },
  };
}

const everyMs = 1_000;

/** One pool, or all. Without the time, so that two states can be compared. */
export async function overviewOf({ peers }: AdminParts, wanted: string, signal: AbortSignal): Promise<PoolOverview> {
  const options = peerCall(signal);
  const [{ pools }, { accounts, forecasts, pauses }, { file }] = await Promise.all([
    peers.broker.listPools({}, options),
    peers.broker.listAccounts({ pool: wanted }, options),
    peers.poolOperator.getGatewayFile({}, options),
  ]);
  const shown = pools.filter(({ name }) => wanted === '' || name === wanted);
  if (wanted !== '' && shown.length === 0) throw notFound(`pool ${wanted}`);
  return create(PoolOverviewSchema, {
    pools: shown.map((pool) => ({
      pool,
      accounts: accounts.filter((account) => account.pool === pool.name),
      forecasts: forecasts.filter((forecast) => forecast.pool === pool.name),
      pauses: pauses.filter((pause) => pause.pool === pool.name),
    })),
    classes: (file?.classes ?? []).map(({ id, name, effort, candidates }) => ({ id, name, effort, candidates })),
  });
}
