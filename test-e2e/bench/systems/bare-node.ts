import { join } from 'node:path';
import { freePort } from '@gateway/testkit';
import { OwnProcess } from '../processes/own-process.ts';
import { untilConnectable } from '../processes/until-connectable.ts';
import { anyTokens, type System } from './system.ts';

/** One hop of Node that inspects nothing: the lower bound for a gateway in JavaScript. */
export async function startBareNode(providerPort: number): Promise<System> {
  const port = await freePort();
  const program = join(import.meta.dirname, '../bare-proxy/main.ts');
  const started = await OwnProcess.start(process.execPath, [program, String(port), String(providerPort)]);
  try {
    await untilConnectable('The bare Node proxy', port, started);
  } catch (thrown) {
    await started[Symbol.asyncDispose]();
    throw thrown;
  }
  return {
    name: 'bare-node',
    port,
    processes: [{ name: 'bare-node', pid: started.pid, part: 'gateway' }],
    tokens: anyTokens,
    inspectorPorts: new Map(),
    serves: () => true,
    headersFor: () => ({}),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
