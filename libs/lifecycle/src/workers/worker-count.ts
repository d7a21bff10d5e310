import { availableParallelism } from 'node:os';

/** Number of worker processes that a setting asks for: a whole number, or `auto` for as many as there are cores. */
export function parseWorkerCount(text: string): number | undefined {
  if (text === 'auto') return availableParallelism();
  const count = Number(text);
  return Number.isInteger(count) && count >= 1 && count <= mostWorkers ? count : undefined;
}

export const mostWorkers = 256;
