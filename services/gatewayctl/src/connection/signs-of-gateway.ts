import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { DataFolder } from '@gateway/all-in-one/data-folder';
import { type Environment, readSettings } from '@gateway/config';
import { timeoutSignal } from '@gateway/time';
import type { AdminAddress } from './admin-address.ts';

/** Long enough for a busy gateway: only a port without a listener proves that there is none. */
const timeoutMs = 3_000;

type AdminPort = 'gateway' | 'nothing' | 'silent';

/** Asks the address at which a gateway on this machine has its admin service. */
export async function askAdminPort({ url }: AdminAddress): Promise<AdminPort> {
  const answer = await ask(`${url}/livez`);
  if (answer === 'silent') return 'silent';
  return answer !== 'nothing' && answer.status === 200 ? 'gateway' : 'nothing';
}

/**
 * A sign that a gateway runs on this machine although its admin service was not found: a command
 * that used a database now might use the wrong one. Undefined if there is no sign.
 *
 * @throws ConfigError
 */
export async function signOfGateway(
  env: Environment,
  { url }: AdminAddress,
  adminPort: Exclude<AdminPort, 'gateway'>,
): Promise<string | undefined> {
  if (adminPort === 'silent')
    return `a process listens at ${url} but does not respond: it may be a gateway that is busy or uses TLS`;
  const owner = await DataFolder.ownerOf(env);
  if (owner !== undefined)
    return `a gateway (${owner.name}) uses the folder ${owner.path}, but no gateway responds at ${url}`;
  const publicUrl = `http://127.0.0.1:${readSettings(env, (reader) => reader.port('PORT', 8080))}`;
  const answer = await ask(`${publicUrl}/v1/models`);
  if (answer === 'nothing' || answer === 'silent' || !isRefusalOfGateway(answer)) return undefined;
  return `a gateway responds at ${publicUrl}, but its admin service does not respond at ${url}`;
}

/** Whether this is the gateway's answer without a token. @see spec "Errors" */
function isRefusalOfGateway({ status, text }: Answer): boolean {
  return status === 401 && /^\{"error":\{"code":"unauthorized",/.test(text);
}

interface Answer {
  readonly status: number;
  /** The beginning of the body. */
  readonly text: string;
}

/**
 * "nothing": the connection was refused. "silent": the connection was accepted, but the answer is
 * not HTTP.
 */
async function ask(url: string): Promise<Answer | 'nothing' | 'silent'> {
  const signal = timeoutSignal(timeoutMs);
  try {
    const request = get(url, { agent: false, signal });
    const [answer] = (await once(request, 'response', { signal })) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, text: await beginningOf(answer) };
  } catch (thrown) {
    const isRefused = thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'connect';
    return isRefused ? 'nothing' : 'silent';
  }
}

async function beginningOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) {
    text += piece;
    if (text.length > 1_000) break;
  }
  return text;
}
