import { availableParallelism } from 'node:os';
import type { EnvReader } from '@gateway/config';

const mostWorkers = 256;

/** Number of worker processes that a setting asks for: a whole number, or `auto` for as many as there are cores. Default: 1. */
export function readWorkerCount(reader: EnvReader, setting: string, flag = ''): number {
  const text = reader.string(setting, '1');
  if (text === 'auto') return availableParallelism();
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= mostWorkers) return count;
  reader.problem(`${setting}${flag} must be auto or a number from 1 to ${mostWorkers}, not "${text}".`);
  return 1;
}
