import { type Environment, EnvReader } from '@gateway/config';

/**
 * The admin address of the gateway to work on: the one at GATEWAY_ADMIN_URL; else the one at the default address, if it
 * answers. Undefined: work on the database. A GATEWAY_ADMIN_URL that is set but does not answer is an error of the first
 * call: the database could be another one.
 */
export async function findGateway(env: Environment): Promise<string | undefined> {
  const reader = new EnvReader(env);
  const named = reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090', ['http', 'https']);
  const adminPort = reader.port('ADMIN_PORT', 9090);
  reader.done();
  if (named !== undefined) return named;
  const usual = `http://127.0.0.1:${adminPort}`;
  return (await answers(usual)) ? usual : undefined;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(1_000) });
    return response.ok;
  } catch {
    return false;
  }
}
