import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

/** A setting that no program reads, which identifies all processes of one start. */
export interface ProcessMark {
  readonly env: Readonly<Record<string, string>>;
  /** The command lines of the running ones. */
  running(): Promise<readonly string[]>;
}

export function processMark(): ProcessMark {
  const id = randomUUID();
  return { env: { GATEWAY_TEST_RUN: id }, running: () => processesWith(`GATEWAY_TEST_RUN=${id}`) };
}

async function processesWith(setting: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process that has ended has no environment.
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (!environment.split('\0').includes(setting)) return [];
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return [words.replaceAll('\0', ' ').trim()];
    }),
  );
  return found.flat();
}
