import { Code, ConnectError } from '@connectrpc/connect';
import { ConfigError } from '@gateway/config/env-reader';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';
import { CommanderError } from 'commander';
import { UsageError } from './failures.ts';

/** 2: usage error; 1: the command failed. */
export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  return thrown instanceof UsageError || invalidFieldsOf(thrown).length > 0 ? 2 : 1;
}

/**
 * The error message of a failed command on the terminal: the problem and the remedy. Empty if
 * already printed.
 */
export function failureText(thrown: unknown, url: string): string {
  if (thrown instanceof CommanderError) return '';
  const fields = invalidFieldsOf(thrown).map(({ field, text }) => `${flagOf(field)}: ${text}`);
  const problems = thrown instanceof ConfigError ? thrown.problems : fields;
  const lines = problems.length > 0 ? problems : [textOf(thrown, url)];
  return lines.map((line) => `gatewayctl: ${line}`).join('\n');
}

/** What went wrong, for a line of `doctor` itself: it need not say to run it. */
export function findingText(thrown: unknown, url: string): string {
  const isAnswered = thrown instanceof ConnectError && thrown.cause === undefined;
  return isAnswered && thrown.code === Code.Unavailable ? thrown.rawMessage : textOf(thrown, url);
}

function textOf(thrown: unknown, url: string): string {
  if (thrown instanceof ConnectError) return callText(thrown, url);
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function callText({ code, rawMessage, cause }: ConnectError, url: string): string {
  if (cause instanceof Error && 'code' in cause && brokenConnection.has(cause.code)) {
    return `the connection to ${url} broke before the answer (${rawMessage}). Try again; if the command changes something, check first whether it did.`;
  }
  switch (code) {
    case Code.Unauthenticated:
      return `${rawMessage} Run gatewayctl login, or set GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE.`;
    case Code.PermissionDenied:
      return `${rawMessage} (gatewayctl whoami shows your identity at ${url}.)`;
    case Code.Unimplemented:
      return `the server at ${url} is not the gateway's admin service. Set GATEWAY_ADMIN_URL to the address of the admin service.`;
    case Code.Unavailable:
      // An error from the gateway itself has no cause: the gateway answers, and a service behind it
      // does not.
      if (cause === undefined) return `${rawMessage} Run gatewayctl doctor to see what is unreachable.`;
      return `nothing answers at ${url} (${rawMessage}). Is the gateway running, and is GATEWAY_ADMIN_URL correct?`;
    case Code.DeadlineExceeded:
      return `${url} timed out. Try again, or run gatewayctl doctor to see what is slow.`;
    default:
      return rawMessage;
  }
}

const brokenConnection: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

function invalidFieldsOf(thrown: unknown) {
  return thrown instanceof ConnectError ? thrown.findDetails(InvalidFieldsSchema).flatMap(({ fields }) => fields) : [];
}

/** Fields whose flags have other names. */
const flags: Readonly<Record<string, string>> = {
  limits: '--rpm and --tpd',
  'limits.requestsPerMinute': '--rpm',
  'limits.tokensPerDay': '--tpd',
  expiresAtMs: '--expires',
  keepOldSeconds: '--keep-old',
  'account.name': '<pool/name>',
  'account.pool': '<pool/name>',
  'credential.bearer': 'the secret',
  'credential.apiKey': 'the secret',
  'credential.oauth.refreshToken': 'the secret',
  'credential.oauth.clientSecret': '--client-secret-file',
  firstDay: '--from',
  lastDay: '--to',
  localDay: '--from',
  'search.model': '--model',
  'search.accountId': '--account',
  'search.endpoint': '--endpoint',
  tokenId: '--token',
  sessionId: '--session',
};

/** `account.maxConcurrency` is said by `--max-concurrency`. */
function flagOf(field: string): string {
  const name = field.split('.').at(-1) ?? field;
  return flags[field] ?? `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
