import type { ServiceImpl } from '@connectrpc/connect';
import { settingsRead } from '@gateway/config';
import type { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { type AdminParts, peerTimeoutMs } from '../parts.ts';
import { invalidFields } from './problems.ts';

/**
 * What the gateway runs with: the broker's `gateway.yaml`, and the settings of this process. Where all services are one process
 * these are the settings of all.
 */
export function configurationService({ peers, logger }: AdminParts): ServiceImpl<typeof ConfigurationService> {
  const { service = 'admin' } = logger.bindings();
  return {
    async getConfiguration(_request, { signal }) {
      const { file } = await peers.poolOperator.getGatewayFile({}, { timeoutMs: peerTimeoutMs, signal });
      return { file, settings: settingsRead().map((setting) => ({ service: String(service), ...setting })) };
    },

    async checkConfiguration({ text }, { signal }) {
      if (text.trim() === '') throw invalidFields({ text: 'Give the text of a gateway.yaml.' });
      const request = { text };
      const checked = await peers.poolOperator.checkGatewayFile(request, { timeoutMs: peerTimeoutMs, signal });
      return { problems: checked.problems, changes: checked.changes };
    },
  };
}
