import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { settingsRead } from '@gateway/config';
import type { ConfigurationService, SettingSchema } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import type { GatewayFile, GetGatewayFileResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { RpcError } from '@gateway/rpc';
import type { AdminParts, ReplicaSettings } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';
import { hasBudget, modelsWithoutPrice, pricedModels } from './models-without-price.ts';
import { invalidFields } from './problems.ts';

/**
 * The configuration of the gateway: the broker's `gateway.yaml`, the settings of this process, and
 * those of services in other processes.
 */
export function configurationService(parts: AdminParts): ServiceImpl<typeof ConfigurationService> {
  const { peers, audit, logger } = parts;
  const { service = 'admin' } = logger.bindings();
  const groupsNow = async (signal: AbortSignal) => (await peers.groups.listGroups({}, peerCall(signal))).groups;
  const unknown =
    <T>(signal: AbortSignal, instead: T) =>
    (thrown: unknown) => {
      signal.throwIfAborted();
      logger.warn({ err: thrown }, 'models without a price are not known');
      return instead;
    };
  const isBudgeted = (signal: AbortSignal) =>
    groupsNow(signal).then((groups) => groups.some(hasBudget), unknown(signal, false));
  const withoutPriceIn = (file: GatewayFile, signal: AbortSignal) =>
    Promise.all([pricedModels(parts, file, signal), groupsNow(signal)]).then(
      ([priced, groups]) => modelsWithoutPrice(priced, groups),
      unknown(signal, []),
    );
  return {
    async getConfiguration(_request, { signal }) {
      const [{ file, problem: fileProblem }, replicas] = await Promise.all([
        peers.poolOperator.getGatewayFile({}, peerCall(signal)).then(withFile, withoutFile),
        peers.replicas.settings(signal),
      ]);
      const own = settingsRead().map((setting) => ({ service: String(service), ...setting }));
      const ofServices = Map.groupBy(replicas, (replica) => replica.service);
      return {
        file,
        modelsWithoutPrice: file === undefined ? [] : await withoutPriceIn(file, signal),
        settings: [...own, ...[...ofServices].flatMap(([name, each]) => settingsOf(name, each))],
        silent: [
          ...(fileProblem === undefined ? [] : [`gateway.yaml: ${fileProblem}`]),
          ...replicas.flatMap(({ service, address, problem }) =>
            problem === undefined ? [] : [`${service} at ${address}: ${problem}`],
          ),
        ],
      };
    },

    async checkConfiguration({ text }, context) {
      if (text.trim() === '') throw invalidFields({ text: 'Enter the text of a gateway.yaml.' });
      // It changes nothing, but is audited because its answer contains parts of the running file.
      return await audit.change(context, { action: 'configuration.check', subject: 'gateway.yaml' }, async () => {
        const checked = await peers.poolOperator.checkGatewayFile({ text }, peerCall(context.signal));
        const { problems, changes, newReferences } = checked;
        const isPriced = checked.hasPrices || (await isBudgeted(context.signal));
        const withoutPrice = isPriced ? checked.modelsWithoutPrice : [];
        return {
          answer: { problems, changes, newReferences, modelsWithoutPrice: withoutPrice },
          after: { problems: problems.length, changes: changes.length },
        };
      });
    },
  };
}

function withFile({ file }: GetGatewayFileResponse): {
  readonly file: GatewayFile | undefined;
  readonly problem?: undefined;
} {
  return { file };
}

/** Without the pool-broker, the settings of the other services are what an operator needs. */
function withoutFile(thrown: unknown): { readonly file?: undefined; readonly problem: string } {
  if (thrown instanceof RpcError && thrown.status === 'unavailable') return { problem: thrown.message };
  throw thrown;
}

/** One row for all replicas of a service if they agree, otherwise one for each. */
function settingsOf(service: string, replicas: readonly ReplicaSettings[]): MessageInitShape<typeof SettingSchema>[] {
  const all = replicas.flatMap(({ address, settings = [] }) => settings.map((setting) => ({ address, ...setting })));
  const byName = Map.groupBy(all, ({ name }) => name);
  const names = [...byName.keys()].toSorted();
  return names.flatMap((name) => {
    const each = byName.get(name) ?? [];
    const agree = each.every(({ value, origin }) => value === each[0]?.value && origin === each[0].origin);
    return agree
      ? each.slice(0, 1).map((setting) => ({ ...setting, service, address: '' }))
      : each.map((setting) => ({ ...setting, service }));
  });
}
