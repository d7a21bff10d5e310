import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '@gateway/config';
import type { DataFolder } from './data-folder.ts';
import { lockFile } from './lock-file.ts';

/** Held while a gateway works on the folder. The operating system frees it when its process dies, however that happens. */
const lockName = 'gateway.lock';
/** Says for people who holds the lock. It proves nothing: a killed process leaves it behind. */
const ownerName = 'gateway.pid';

/**
 * Takes the data folder for this gateway alone: two on one folder would each count the limits by themselves. Disposing it
 * gives the folder back.
 *
 * @throws ConfigError that names the process that has it.
 */
export async function claimDataFolder(data: DataFolder): Promise<Disposable> {
  const path = join(data.path, lockName);
  const lock = lockFile(path);
  if (lock === undefined) {
    throw new ConfigError([
      `GATEWAY_DATA: another gateway (${await ownerText(data)}) works on the folder ${resolve(data.path)}. Stop that one, or give this one a folder of its own, for example GATEWAY_DATA=./data-2.`,
    ]);
  }
  await data.write(ownerName, `process ${process.pid} on ${hostname()}`);
  return lock;
}

/** A process that has just locked the folder may not have said so yet. */
async function ownerText(data: DataFolder): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const text = await data.read(ownerName);
    if (text !== undefined && text !== '' && (isAlive(text) || attempt === attempts)) return text;
    if (attempt === attempts) return 'a process that is not known';
    await sleep(pauseMs);
  }
}

const attempts = 10;
const pauseMs = 100;

function isAlive(text: string): boolean {
  const pid = Number(/^process (\d+)/.exec(text)?.[1]);
  try {
    // Signal 0 is not sent: it only asks whether there is such a process.
    return process.kill(pid, 0);
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}
