import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  GroupService,
  IdentityService,
  TokenKind,
  type TokenSchema,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { GatewayFileSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClient, type Handlers, serviceRoute } from '@gateway/rpc';
import type { AdminPeers } from '../../parts.ts';

type Part<S extends Parameters<typeof serviceRoute>[0]> = Partial<Handlers<S>>;

export interface FakeServices {
  readonly tokens?: readonly MessageInitShape<typeof TokenSchema>[];
  readonly file?: MessageInitShape<typeof GatewayFileSchema>;
  readonly report?: Part<typeof UsageReportService>;
}

/**
 * Peers that know these tokens and this gateway.yaml, and answer as they are set. Other calls fail.
 */
export function fakePeers({ tokens = [], file = {}, report = {} }: FakeServices) {
  const listed: string[][] = [];
  const identity: Part<typeof IdentityService> = {
    list: ({ tokenIds, search }) => {
      listed.push(tokenIds);
      const isMeant = ({ tokenId = '', label = '' }: MessageInitShape<typeof TokenSchema>) =>
        tokenIds.length > 0 ? tokenIds.includes(tokenId) : tokenId.startsWith(search) || label.includes(search);
      return { tokens: tokens.filter(isMeant).map((token) => ({ kind: TokenKind.SERVICE, ...token })) };
    },
  };
  const poolOperator: Part<typeof PoolOperatorService> = { getGatewayFile: () => ({ file }) };
  const peers = {
    identity: clientOf(IdentityService, identity),
    poolOperator: clientOf(PoolOperatorService, poolOperator),
    usageReport: clientOf(UsageReportService, report),
    groups: clientOf(GroupService, { listGroups: () => ({ groups: [{ groupId: 'g', name: 'Research' }] }) }),
  };
  // The code under test makes no other calls.
  return { peers: peers as unknown as AdminPeers, listed };
}

export function clientOf<S extends Parameters<typeof serviceRoute>[0]>(service: S, handlers: Part<S>) {
  const missing = service.methods.map(({ localName }) => [
    localName,
    () => {
      throw new Error(`${localName} was not expected`);
    },
  ]);
  return directClient(serviceRoute(service, { ...Object.fromEntries(missing), ...handlers }));
}
