import { join, resolve } from 'node:path';
import { defaultGatewayConfig, type Environment, EnvReader, loadGatewayFile } from '@gateway/config';
import { startSimulator } from '@gateway/simulator';

export interface Providers {
  readonly gatewayConfigFile: string | undefined;
  /** What the file refers to. */
  readonly env: Readonly<Record<string, string>>;
  /** Set when the providers are simulated. */
  readonly simulatorUrl: string | undefined;
}

/** The configured accounts; without any, simulated ones, which `stack` stops. */
export async function chooseProviders(env: Environment, stack: AsyncDisposableStack): Promise<Providers> {
  const file = new EnvReader(env).optional('GATEWAY_CONFIG');
  const configured = file === undefined ? defaultGatewayConfig(env) : loadGatewayFile(file, env);
  if (configured.accounts.length > 0) {
    return { gatewayConfigFile: file === undefined ? undefined : resolve(file), env: {}, simulatorUrl: undefined };
  }
  const simulator = stack.use(await startSimulator());
  return {
    gatewayConfigFile: join(import.meta.dirname, '../docker/gateway.yaml'),
    env: { SIMULATOR_URL: simulator.url },
    simulatorUrl: simulator.url,
  };
}
