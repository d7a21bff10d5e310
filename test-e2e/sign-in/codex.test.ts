import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { roomMs } from '@gateway/testkit/room';
import { beforeAll, expect, it } from 'vitest';
import { disablePerson } from '../client/person.ts';
import { clientPackages, clientPrograms, runClient, timed } from './client-programs.ts';
import { CommandLineHome } from './command-line-home.ts';
import { describeClient } from './describe-client.ts';

let codex = '';
beforeAll(async () => {
  codex = join(await clientPrograms(), 'codex');
}, roomMs(900_000));

/** The real client, unchanged, with the command that prints the token of the person. */
describeClient(clientPackages.codex, (gateway) => {
  it('answers a person who has signed in on the command line, until the person is disabled', async () => {
    await using home = await CommandLineHome.make(gateway());
    await mkdir(join(home.folder, '.codex'));
    await writeFile(join(home.folder, '.codex/config.toml'), configOf(gateway().baseUrl));
    const ask = () =>
      runClient(codex, ['exec', '--skip-git-repo-check', 'Say hello'], { cwd: home.folder, env: home.env });
    await timed('Codex, from gatewayctl login to the first answer', async () => {
      await home.signIn('dana');
      expect(await ask()).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
    });
    await disablePerson(gateway(), 'dana');
    expect(await ask()).toMatchObject({ code: 1, text: expect.stringMatching(/401|Unauthorized/) });
  });
});

function configOf(baseUrl: string): string {
  return `
model = "gpt-5.5"
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${baseUrl}/v1"
wire_api = "responses"

[model_providers.gateway.auth]
command = "gatewayctl"
args = ["token", "print"]
timeout_ms = 30000
`;
}
