import { ManagedProcess, type ProcessPlan } from './managed-process.ts';
import type { ProcessReaper } from './process-reaper.ts';

/**
 * A process that another one started, by its pid. `restart()` starts it again as a child of this process. Disposing stops such a
 * child; the first process is left to the one that started it.
 */
export class AdoptedProcess extends ManagedProcess implements AsyncDisposable {
  constructor(pid: number, plan: ProcessPlan, reaper: ProcessReaper) {
    super(plan, reaper, pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.adoptedPid === undefined) await this.stop();
  }
}
