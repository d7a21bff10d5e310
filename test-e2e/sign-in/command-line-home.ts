import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOf } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { expect } from 'vitest';
import { confirmCode } from '../client/person.ts';
import { startGatewayctl } from '../topologies/gateway-process.ts';
import type { SignInTopology } from '../topologies/with-sign-in.ts';

/** The home folder of a person who has `gatewayctl` on the path, and uses it to sign in. */
export class CommandLineHome implements AsyncDisposable {
  readonly folder: string;
  readonly #gateway: SignInTopology;

  static async make(gateway: SignInTopology): Promise<CommandLineHome> {
    const folder = await mkdtemp(join(tmpdir(), 'person-'));
    await mkdir(join(folder, 'bin'));
    const program = join(folder, 'bin/gatewayctl');
    await writeFile(program, `#!/bin/sh\nexec ${process.execPath} ${programOf('gatewayctl')} "$@"\n`);
    await chmod(program, 0o755);
    return new CommandLineHome(folder, gateway);
  }

  private constructor(folder: string, gateway: SignInTopology) {
    this.folder = folder;
    this.#gateway = gateway;
  }

  get env() {
    const path = `${join(this.folder, 'bin')}:${process.env.PATH ?? ''}`;
    return { HOME: this.folder, PATH: path, GATEWAY_URL: this.#gateway.baseUrl };
  }

  /** Runs `gatewayctl login --person`, and confirms its code in a browser. */
  async signIn(name: string): Promise<void> {
    await using login = startGatewayctl(['login', '--person'], this.env);
    await expect.poll(() => login.stderr(), { timeout: roomMs(10_000) }).toMatch(/compare the code/);
    const [, userCode = ''] = /compare the code: ([A-Z]{4}-[A-Z]{4})/.exec(login.stderr()) ?? [];
    await confirmCode(`${this.#gateway.adminUrl}/device`, userCode, this.#gateway.provider, name);
    const { exitCode, stderr } = await login.ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining(`as ${name}@acme.test`) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
