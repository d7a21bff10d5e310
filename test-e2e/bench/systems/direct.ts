import { anyTokens, type System } from './system.ts';

/** Nothing in between: what the generator and the providers take by themselves. */
export function direct(providerPort: number): System {
  return {
    name: 'direct',
    port: providerPort,
    processes: [],
    tokens: anyTokens,
    inspectorPorts: new Map(),
    serves: () => true,
    headersFor: () => ({}),
    [Symbol.asyncDispose]: async () => undefined,
  };
}
