import { findPrograms } from '../programs/find-programs.ts';
import { engineProblem, startContainer } from './container-server.ts';
import { startServerProcess } from './server-process.ts';
import type { ServerProgram } from './server-program.ts';
import type { TestServer } from './test-server.ts';

/**
 * Starts a server in a container where a Docker engine runs, else from programs of this machine or of Debian's packages.
 *
 * @throws Error that says what was tried, when none can be had.
 */
export async function startServer(program: ServerProgram, port?: number): Promise<TestServer> {
  const tried: string[] = [];
  const problem = await engineProblem();
  if (problem === undefined) {
    try {
      return await startContainer(program, port);
    } catch (thrown) {
      tried.push(`a container of ${program.image.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  } else {
    tried.push(`a container of ${program.image.name}: no Docker engine answers (${problem})`);
  }
  return startServerProcess(program, await findPrograms(program.kind, tried), port);
}
