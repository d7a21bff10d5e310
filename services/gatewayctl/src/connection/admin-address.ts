import { type Environment, readSettings } from '@gateway/config/env-reader';
import { safeAddress } from './safe-address.ts';

/** The address of the admin service. */
export interface AdminAddress {
  readonly url: string;
  /** False if the address is the default of a gateway on this machine. */
  readonly isNamed: boolean;
}

/**
 * GATEWAY_ADMIN_URL, otherwise ADMIN_PORT (9090) of this machine.
 * @throws ConfigError, UsageError
 */
export function readAdminAddress(env: Environment): AdminAddress {
  const { named, port } = readSettings(env, (reader) => ({
    named: reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090'),
    port: reader.port('ADMIN_PORT', 9090),
  }));
  const url = safeAddress('GATEWAY_ADMIN_URL', named ?? `http://127.0.0.1:${port}`, env);
  return { url, isNamed: named !== undefined };
}
