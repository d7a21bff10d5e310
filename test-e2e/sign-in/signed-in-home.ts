import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PersonTokens } from '../client/person.ts';

/** The home folder of a person who uses Claude Code, with settings that name a gateway. */
export class ClaudeHome {
  readonly folder: string;
  readonly #baseUrl: string;

  static async make(parent: string, baseUrl: string): Promise<ClaudeHome> {
    const folder = await mkdtemp(join(parent, 'home-'));
    await mkdir(join(folder, '.claude'));
    const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    await writeJson(join(folder, '.claude.json'), { hasCompletedOnboarding: true, projects: { [folder]: trusted } });
    const settings = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: baseUrl };
    await writeJson(join(folder, '.claude/settings.json'), settings);
    return new ClaudeHome(folder, baseUrl);
  }

  private constructor(folder: string, baseUrl: string) {
    this.folder = folder;
    this.#baseUrl = baseUrl;
  }

  /** Variables of a process that has nothing but this folder. */
  get env() {
    return {
      ...{ HOME: this.folder, PATH: process.env.PATH ?? '', TERM: 'xterm-256color', BROWSER: '/bin/true' },
      DISABLE_AUTOUPDATER: '1',
    };
  }

  /** Stores a session as the client does after a sign-in. */
  async store(tokens: PersonTokens, expiresAtMs: number): Promise<void> {
    const session = {
      ...{ url: this.#baseUrl, jwt: tokens.access_token, expiresAt: expiresAtMs, email: tokens.email },
      tokenEndpoint: `${this.#baseUrl}/oauth/token`,
      revocationEndpoint: `${this.#baseUrl}/oauth/revoke`,
      ...{ idpRefreshToken: tokens.refresh_token, vouchedAtLogin: false },
    };
    const gatewayTrust = { [new URL(this.#baseUrl).hostname]: 'http-loopback' };
    await writeJson(this.#credentials, { gatewayTrust, enterpriseGateway: session });
  }

  /** What the client has stored. Undefined: no session. */
  async session(): Promise<{ readonly jwt: string; readonly idpRefreshToken: string } | undefined> {
    const text = await readFile(this.#credentials, 'utf8').catch(() => '{}');
    return JSON.parse(text).enterpriseGateway;
  }

  get #credentials(): string {
    return join(this.folder, '.claude/.credentials.json');
  }
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writeFile(file, JSON.stringify(value), { mode: 0o600 });
}
