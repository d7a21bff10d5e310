import type { PoolOverview } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';

/** Models that clients can be set up with, one for each way to speak to the gateway. */
export interface ClientModels {
  /** For chat completions. */
  readonly chat: string;
  /** For the small jobs of agents, such as titles. */
  readonly small: string;
  /** Undefined: no pool speaks it. */
  readonly messages: string | undefined;
  readonly responses: string | undefined;
}

export function clientModelsOf({ pools, classes }: Pick<PoolOverview, 'pools' | 'classes'>): ClientModels {
  const formats = new Map(pools.map(({ pool }) => [pool?.name, pool?.format]));
  const formatOf = (candidate: string) => formats.get(poolOf(candidate));
  const speaks = (format: ProviderFormat) => (candidate: string) => formatOf(candidate) === format;
  const isMessages = speaks(ProviderFormat.MESSAGES);
  const messages =
    classes.find(({ candidates }) => candidates.every(isMessages)) ??
    classes.find(({ candidates }) => candidates.some(isMessages));
  const responses = classes.flatMap(({ candidates }) => candidates).find(speaks(ProviderFormat.RESPONSES));
  const chat = classes[0]?.id ?? 'gateway/sterk';
  return {
    chat,
    small: classes.find(({ effort }) => effort === 'low')?.id ?? chat,
    messages: messages?.id,
    responses: responses?.slice(poolOf(responses).length + 1),
  };
}

/** Of "<pool>/<model>". */
function poolOf(candidate: string): string {
  return candidate.slice(0, Math.max(0, candidate.indexOf('/')));
}
