import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OwnProcess } from './own-process.ts';

/**
 * Resolves when a process accepts connections. @throws Error with its last lines if it ended or
 * took too long.
 */
export async function untilConnectable(name: string, port: number, started: OwnProcess): Promise<void> {
  for (const giveUpAtMs = performance.now() + 20_000; performance.now() < giveUpAtMs; await sleep(50)) {
    if (started.hasEnded) break;
    if (await isConnectable(port)) return;
  }
  throw new Error(`${name} did not start:\n${started.output}`);
}

async function isConnectable(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
