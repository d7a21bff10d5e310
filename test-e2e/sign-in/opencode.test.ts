import { join } from 'node:path';
import { roomMs } from '@gateway/testkit/room';
import { beforeAll, expect, it } from 'vitest';
import { disablePerson } from '../client/person.ts';
import { clientPackages, clientPrograms, runClient, timed } from './client-programs.ts';
import { CommandLineHome } from './command-line-home.ts';
import { describeClient } from './describe-client.ts';

let opencode = '';
beforeAll(async () => {
  opencode = join(await clientPrograms(), 'opencode');
}, roomMs(900_000));

/** The real client, unchanged, which reads its configuration from the gateway. */
describeClient(clientPackages.opencode, (gateway) => {
  it('answers a person who has signed in, with the configuration of the gateway alone', async () => {
    await using home = await CommandLineHome.make(gateway());
    const run = (...args: readonly string[]) => runClient(opencode, args, { cwd: home.folder, env: home.env });
    const ask = () => run('run', '--model', 'gateway/claude-sonnet-5', 'Say hello');
    await timed('opencode, from gatewayctl login to the first answer', async () => {
      await home.signIn('dana');
      expect(await run('auth', 'login', gateway().baseUrl)).toMatchObject({ code: 0 });
      expect(await ask()).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
    });
    await disablePerson(gateway(), 'dana');
    expect(await ask()).toMatchObject({ code: 1, text: expect.stringContaining('unknown, revoked or expired') });
  });

  it('says to a person who has not signed in what to run', async () => {
    await using home = await CommandLineHome.make(gateway());
    const login = await runClient(opencode, ['auth', 'login', gateway().baseUrl], { cwd: home.folder, env: home.env });
    expect(login.text).toContain('Run gatewayctl login --person.');
  });
});
