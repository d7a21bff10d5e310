import type { TestProject } from 'vitest/node';
import { type StartedBackends, startBackends } from './test-backends.ts';

declare global {
  // Every vitest project loads this file separately, but a run has only one set of servers.
  var testBackendsOfTheRun: { started: Promise<StartedBackends>; users: number } | undefined;
}

/**
 * Vitest's `globalSetup`: starts the servers once per run, whichever projects need them, and stops
 * them at the end.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  globalThis.testBackendsOfTheRun ??= { started: startBackends(), users: 0 };
  const run = globalThis.testBackendsOfTheRun;
  run.users += 1;
  const started = await run.started;
  project.provide('testBackends', started.backends);
  return async () => {
    run.users -= 1;
    if (run.users > 0) return;
    globalThis.testBackendsOfTheRun = undefined;
    await started[Symbol.asyncDispose]();
  };
}
