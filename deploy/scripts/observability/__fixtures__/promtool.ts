import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrometheus } from '../find-prometheus.ts';

/** What promtool says. @throws Error with its words when it finds fault. */
export async function promtool(...parameters: readonly string[]): Promise<string> {
  const { folder } = await findPrometheus();
  try {
    const { stdout } = await promisify(execFile)(join(folder, 'promtool'), parameters, { timeout: 240_000 });
    return stdout;
  } catch (thrown) {
    const { stdout = '', stderr = '' } = thrown as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${parameters.join(' ')}\n${stdout}${stderr}`, { cause: thrown });
  }
}
