import { OwnProcess } from '../bench/processes/own-process.ts';
import { untilConnectable } from '../bench/processes/until-connectable.ts';
import type { Place } from './peer.ts';

export interface PeerProgram {
  readonly name: string;
  /** Path in the folder where npm installed the peer. */
  readonly path: string;
  readonly parameters: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a peer's program with the Node of this process, without its settings. Resolves when it
 * accepts connections.
 */
export async function startProgram(
  { installed, home, port }: Place,
  { name, path, parameters, env }: PeerProgram,
): Promise<OwnProcess> {
  await using stack = new AsyncDisposableStack();
  const started = stack.use(
    await OwnProcess.start(process.execPath, [`${installed}/node_modules/${path}`, ...parameters], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, ...env },
    }),
  );
  await untilConnectable(name, port, started);
  stack.move();
  return started;
}
