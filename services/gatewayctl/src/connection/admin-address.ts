import { type Environment, readSettings } from '@gateway/config/env-reader';

/** The address of the admin service. */
export interface AdminAddress {
  readonly url: string;
  /** False if the address is the default of a gateway on this machine. */
  readonly isNamed: boolean;
}

/** GATEWAY_ADMIN_URL, otherwise ADMIN_PORT (9090) of this machine. @throws ConfigError */
export function readAdminAddress(env: Environment): AdminAddress {
  return readSettings(env, (reader) => {
    const named = reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090');
    const port = reader.port('ADMIN_PORT', 9090);
    return { url: named ?? `http://127.0.0.1:${port}`, isNamed: named !== undefined };
  });
}
