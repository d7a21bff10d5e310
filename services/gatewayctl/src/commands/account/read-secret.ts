import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { ConfigError, Secret } from '@gateway/config';

/** Where a secret is read from when no file is named. */
export interface SecretInput {
  readonly isTerminal: boolean;
  read(): Promise<string>;
}

export const standardInput: SecretInput = {
  get isTerminal() {
    return process.stdin.isTTY === true;
  },
  read: () => text(process.stdin),
};

/** A secret from a file or standard input, without the line end it may have. @throws ConfigError, which does not repeat it. */
export async function readSecret(path: string | undefined, input: SecretInput): Promise<Secret> {
  const secret = (await readText(path, input)).trim();
  if (/^[\x21-\x7e]+$/.test(secret)) return new Secret(secret);
  throw new ConfigError([
    secret === ''
      ? 'The secret is empty.'
      : 'The secret holds spaces or characters that no secret has. It may have been copied with too much around it.',
  ]);
}

async function readText(path: string | undefined, input: SecretInput): Promise<string> {
  if (path === undefined || path === '-') {
    // A terminal would show it, and keep it in its scrollback.
    if (input.isTerminal) throw new ConfigError([noTerminal]);
    return input.read();
  }
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    throw new ConfigError([`${path}: the file can't be read${reason}.`]);
  }
}

const noTerminal =
  'The secret is read from standard input, which is a terminal that would show it. Pipe it in (pass show … | gatewayctl account add …) or use --secret-file.';
