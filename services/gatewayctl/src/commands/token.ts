import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Environment } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { checkLabel } from '@gateway/identity/tokens/token-rules';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ControlPlane, callOptions, openControlPlane } from '../control-plane/control-plane.ts';
import { formatRecords } from '../output/table.ts';

interface LimitFlags {
  readonly rpm?: number;
  readonly tpd?: number;
}

interface CreateFlags extends LimitFlags {
  readonly kind: 'service' | 'personal';
  readonly label: string;
}

/** `gatewayctl token …` */
export function tokenCommand(env: Environment): Command {
  return new Command('token')
    .description('Create, list and revoke tokens, and set their limits.')
    .addCommand(createToken(env))
    .addCommand(listTokens(env))
    .addCommand(revokeToken(env))
    .addCommand(setLimits(env));
}

function createToken(env: Environment): Command {
  return withLimitFlags(new Command('create'))
    .description('Create a token and print it: once, on standard output, and nothing else there.')
    .addOption(
      new Option('--kind <kind>', 'service tokens have limits, personal ones none')
        .choices(['service', 'personal'])
        .default('service'),
    )
    .requiredOption('--label <text>', 'shown to the holder in /v1/usage: 1 to 100 characters on one line', label)
    .action(async (flags: CreateFlags) => {
      await using plane = await openControlPlane(env);
      const kind = flags.kind === 'service' ? TokenKind.SERVICE : TokenKind.PERSONAL;
      const issued = await plane.identity.issue({ kind, label: flags.label, limits: limitsOf(flags) }, callOptions);
      process.stdout.write(`${issued.tokenText}\n`);
      process.stderr.write(`created ${issued.token?.tokenId} (${flags.label}); the token is not shown again\n`);
      noteDatabase(plane);
    });
}

function listTokens(env: Environment): Command {
  return new Command('list')
    .description('List tokens, newest first.')
    .option('--all', 'include revoked ones')
    .option('--json', 'as JSON, one token a line')
    .action(async (flags: { readonly all?: boolean; readonly json?: boolean }) => {
      await using plane = await openControlPlane(env);
      const { tokens } = await plane.identity.list({ includeRevoked: flags.all ?? false }, callOptions);
      process.stdout.write(formatRecords(Object.keys(emptyRow), tokens.map(toRow), flags.json));
    });
}

function revokeToken(env: Environment): Command {
  return new Command('revoke')
    .description('Revoke a token for good. Its running streams finish; its next request is refused.')
    .argument('<token-id>')
    .action(async (tokenId: string) => {
      await using plane = await openControlPlane(env);
      const { token } = await plane.identity.revoke({ tokenId }, callOptions);
      process.stderr.write(`revoked ${tokenId} (${token?.label})\n`);
      noteDatabase(plane);
    });
}

function setLimits(env: Environment): Command {
  return withLimitFlags(new Command('set-limits'))
    .description('Replace both limits of a service token; one that is not given is removed.')
    .argument('<token-id>')
    .action(async (tokenId: string, flags: LimitFlags) => {
      await using plane = await openControlPlane(env);
      const { token } = await plane.identity.setLimits({ tokenId, limits: limitsOf(flags) }, callOptions);
      process.stderr.write(`limits of ${tokenId} (${token?.label}): ${describeLimits(token)}\n`);
      noteDatabase(plane);
    });
}

/** Where the change is: a gateway that works on another database, or runs at another address, does not know of it. */
function noteDatabase({ database }: ControlPlane): void {
  if (database !== undefined) process.stderr.write(`no gateway answered: this was written to ${database}\n`);
}

function withLimitFlags(command: Command): Command {
  return command
    .option('--rpm <number>', 'requests per minute; not limited unless given', wholeNumber)
    .option('--tpd <number>', 'tokens per day; not limited unless given', wholeNumber);
}

/** The same rule as identity's, before anything is opened or sent. */
function label(text: string): string {
  try {
    return checkLabel(text);
  } catch (thrown) {
    throw thrown instanceof GatewayError ? new InvalidArgumentError(thrown.message) : thrown;
  }
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  return value;
}

function limitsOf({ rpm, tpd }: LimitFlags) {
  return {
    ...(rpm === undefined ? {} : { requestsPerMinute: rpm }),
    ...(tpd === undefined ? {} : { tokensPerDay: BigInt(tpd) }),
  };
}

const emptyRow = { id: '', kind: '', label: '', limits: '', created: '', revoked: '' };

function toRow(token: Token): typeof emptyRow {
  return {
    id: token.tokenId,
    kind: token.kind === TokenKind.SERVICE ? 'service' : 'personal',
    label: token.label,
    limits: describeLimits(token),
    created: token.createdAt === undefined ? '' : timestampDate(token.createdAt).toISOString(),
    revoked: token.revokedAt === undefined ? '' : timestampDate(token.revokedAt).toISOString(),
  };
}

function describeLimits(token: Token | undefined): string {
  const { requestsPerMinute, tokensPerDay } = token?.limits ?? {};
  const parts = [
    requestsPerMinute === undefined ? undefined : `${requestsPerMinute} requests/minute`,
    tokensPerDay === undefined ? undefined : `${tokensPerDay} tokens/day`,
  ];
  return parts.filter((part) => part !== undefined).join(', ') || 'none';
}
