import { type Environment, readSettings } from '@gateway/config';

/** Where the admin service is. */
export interface AdminAddress {
  readonly url: string;
  /** False: nobody named it, and it is where a gateway on this machine has it. */
  readonly isNamed: boolean;
}

/** GATEWAY_ADMIN_URL, else ADMIN_PORT (9090) of this machine. @throws ConfigError */
export function readAdminAddress(env: Environment): AdminAddress {
  return readSettings(env, (reader) => {
    const named = reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090');
    const port = reader.port('ADMIN_PORT', 9090);
    return { url: named ?? `http://127.0.0.1:${port}`, isNamed: named !== undefined };
  });
}
