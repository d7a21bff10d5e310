import { deadlines } from '@gateway/rpc/multiplex';
import { currentProcess, type WorldProcess } from '../world/world.ts';

type Deadlines = typeof deadlines;
type Call = Parameters<Deadlines['add']>[0];

/**
 * The product has one timer for the deadlines of all calls of a process. Here many processes share
 * its modules: each gets a timer of its own, which dies with it.
 */
export function ownDeadlines(): void {
  const Own = deadlines.constructor as new () => Deadlines;
  const ofProcess = new WeakMap<WorldProcess, Deadlines>();
  const ofCall = new WeakMap<Call, Deadlines>();
  const outside = new Own();
  deadlines.add = (call) => {
    const process = currentProcess();
    const own = process === undefined ? outside : (ofProcess.get(process) ?? new Own());
    if (process !== undefined) ofProcess.set(process, own);
    ofCall.set(call, own);
    own.add(call);
  };
  deadlines.delete = (call) => ofCall.get(call)?.delete(call);
}
