import { anyTokens, type System } from './system.ts';

/** No system in between: the cost of the generator and the providers themselves. */
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
