import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@gateway/testkit';
import { createTokenText } from '@gateway/tokens';
import { type Operator, operatorByApi } from '../client/operator.ts';
import { startGatewayctl, untilReady } from '../topologies/gateway-process.ts';
import type { Addresses } from './addresses.ts';

/**
 * The gateway of the pages: as `npm start` runs it without settings, in front of simulated
 * providers.
 */
export interface DocumentedGateway extends AsyncDisposable {
  readonly addresses: Addresses;
  readonly adminToken: string;
  readonly operator: Operator;
}

export async function startDocumentedGateway(): Promise<DocumentedGateway> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-docs-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [port, adminPort, simulatorPort] = await freePorts(3);
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const adminToken = createTokenText('operator');
  const gateway = stack.use(
    startGatewayctl(['start'], {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      SIMULATOR_PORT: String(simulatorPort),
      GATEWAY_DATA: join(folder, 'data'),
      ADMIN_TOKEN: adminToken,
    }),
  );
  await untilReady(adminUrl, gateway);
  const running = stack.move();
  return {
    addresses: {
      gateway: `http://127.0.0.1:${port}`,
      admin: adminUrl,
      simulator: `http://127.0.0.1:${simulatorPort}`,
    },
    adminToken,
    operator: operatorByApi({ adminUrl, adminToken }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
