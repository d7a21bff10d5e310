import type { Environment } from '@gateway/config';
import { StopSignal, startFailureText } from '@gateway/lifecycle';
import { startBackends, startServices } from '@gateway/testkit';
import { chooseProviders } from './choose-providers.ts';
import { issueFirstToken } from './first-token.ts';
import { printEnd, printLine, printProgress } from './print-line.ts';
import { readStartSettings, type StartSettings } from './start-settings.ts';
import { type Welcome, welcomeText } from './welcome.ts';

// Every service in a process of its own on this machine, for trying the gateway out as it runs in production. Servers
// whose address is not given (REDIS_URL, NATS_URL, DATABASE_URL) are started, empty, and end with this process.

try {
  await runUntilStopped(process.env);
} catch (thrown) {
  process.stderr.write(`${startFailureText('The gateway', thrown)}\n`);
  process.exitCode = 1;
}

async function runUntilStopped(env: Environment): Promise<void> {
  const settings = readStartSettings(env);
  using stop = new StopSignal();
  await using stack = new AsyncDisposableStack();
  try {
    process.stdout.write(welcomeText(await start(env, settings, stack, stop.signal)));
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
  }
  printProgress(`stopping after ${await stop.received}`);
}

/** Everything, in the order in which it is needed; `stack` stops it. */
async function start(
  env: Environment,
  settings: StartSettings,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Welcome> {
  const providers = await chooseProviders(env, stack);
  printProgress('starting Redis, NATS and Postgres, where no address of one is given');
  const { backends } = stack.use(await startBackends(env));
  signal.throwIfAborted();
  printProgress('starting the services');
  const running = stack.use(
    await startServices({
      ...settings,
      backends,
      gatewayConfigFile: providers.gatewayConfigFile,
      env: { ...env, ...providers.env },
      onLine: printLine,
      onUnexpectedEnd: printEnd,
      signal,
    }),
  );
  return {
    ...running,
    simulatorUrl: providers.simulatorUrl,
    token: settings.isDatabaseShared ? undefined : await issueFirstToken(running.adminUrls.identity),
  };
}
