import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { UsageError } from '../../failures.ts';
import { commaList } from '../comma-list.ts';
import { readNamedFile } from '../flags.ts';

/** Standard input, which may be a terminal. */
type SecretInput = Readable & { readonly isTTY?: boolean };

export type CredentialKind = 'bearer' | 'api_key' | 'oauth';

/** The flags of an account's credential. */
export interface CredentialFlags {
  /** Unset: that of the account's pool. */
  readonly kind?: CredentialKind;
  readonly secretFile?: string;
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly scopes?: readonly string[];
}

export function withCredential(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--kind <kind>',
        'bearer (Authorization: Bearer), api_key (x-api-key) or oauth (refresh token); unset: the one that the account has, or api_key in pools of the format messages and bearer in others',
      ).choices(['bearer', 'api_key', 'oauth']),
    )
    .option('--secret-file <path>', 'file with the secret; "-" or unset: standard input')
    .option('--token-url <url>', "oauth: the provider's token endpoint")
    .option('--client-id <id>', 'oauth: client id')
    .option('--client-secret-file <path>', 'oauth: file with the client secret, if there is one')
    .option('--scopes <names>', 'oauth: scopes to request, separated by commas', commaList);
}

/** Reads the credential. @throws UsageError, whose text repeats no secret */
export async function readCredential(
  flags: CredentialFlags,
  usualKind: () => Promise<CredentialKind>,
  input: SecretInput,
) {
  const kind = flags.kind ?? (await usualKind());
  const { secretFile, clientSecretFile, tokenUrl = '', clientId = '', scopes = [] } = flags;
  const secret = await readSecret(secretFile, input);
  if (kind === 'bearer') return { kind, credential: { credential: { case: 'bearer', value: secret } } } as const;
  if (kind === 'api_key') return { kind, credential: { credential: { case: 'apiKey', value: secret } } } as const;
  const clientSecret = clientSecretFile === undefined ? '' : await readSecret(clientSecretFile, input);
  const value = { tokenUrl, clientId, clientSecret, refreshToken: secret, scopes: [...scopes] };
  return { kind, credential: { credential: { case: 'oauth', value } } } as const;
}

/** Before anything is read or sent. @throws UsageError for flags that do not fit together */
export function checkFlags({ kind, tokenUrl, clientId, clientSecretFile, scopes }: CredentialFlags): void {
  const required = { '--token-url': tokenUrl, '--client-id': clientId };
  const ofOAuth = { ...required, '--client-secret-file': clientSecretFile, '--scopes': scopes };
  const missing = Object.entries(required).filter(([, value]) => value === undefined);
  const given = Object.entries(ofOAuth).filter(([, value]) => value !== undefined);
  const problems =
    kind === 'oauth'
      ? missing.map(([flag]) => `--kind oauth needs ${flag}.`)
      : given.map(([flag]) => `${flag} is for --kind oauth only.`);
  if (clientSecretFile === '-')
    problems.push('--client-secret-file must be a file: standard input carries the refresh token.');
  if (problems.length > 0) throw new UsageError(problems.join(' '));
}

/** A secret from a file or standard input, without its final line break. */
export async function readSecret(path: string | undefined, input: SecretInput): Promise<string> {
  const secret = (await readText(path, input)).trim();
  if (/^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new UsageError(
    secret === ''
      ? 'the secret is empty.'
      : 'the secret contains spaces or invalid characters. Check that you copied only the secret.',
  );
}

async function readText(path: string | undefined, input: SecretInput): Promise<string> {
  if (path === undefined || path === '-') {
    if (!input.isTTY) return await text(input);
    throw new UsageError(
      'standard input is a terminal, which would show the secret. Pipe the secret in (pass show … | gatewayctl account add …) or use --secret-file.',
    );
  }
  return await readNamedFile(path);
}
