import type { Environment } from '@gateway/config';
import { startFailureText, stopSignal } from '@gateway/lifecycle';
import { type RunningServices, startBackends, startServices } from '@gateway/testkit';
import { chooseProviders } from './choose-providers.ts';
import { issueFirstToken } from './first-token.ts';
import { printEnd, printLine, printProgress } from './print-line.ts';
import { readStartSettings, type StartSettings } from './start-settings.ts';
import { welcomeText } from './welcome.ts';

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
  const stopped = stopSignal();
  await using stack = new AsyncDisposableStack();
  const providers = await chooseProviders(env, stack);
  printProgress('starting Redis, NATS and Postgres, where no address of one is given');
  const { backends } = stack.use(await startBackends(env));
  printProgress('starting the services');
  const services = stack.use(
    await startServices({
      ...settings,
      backends,
      gatewayConfigFile: providers.gatewayConfigFile,
      env: { ...env, ...providers.env },
      onLine: printLine,
      onUnexpectedEnd: printEnd,
    }),
  );
  process.stdout.write(welcomeText(await welcome(settings, services, providers.simulatorUrl)));
  printProgress(`stopping after ${await stopped}`);
}

async function welcome(settings: StartSettings, { baseUrl, adminUrls }: RunningServices, simulatorUrl?: string) {
  return {
    baseUrl,
    adminUrls,
    simulatorUrl,
    token: settings.isDatabaseShared ? undefined : await issueFirstToken(adminUrls.identity),
  };
}
