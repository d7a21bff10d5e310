import type { Environment } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { checkLabel } from '@gateway/identity/tokens/token-rules';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ControlPlane, callOptions, openControlPlane } from '../control-plane.ts';
import { type Columns, formatRecords, note, print, timeText } from '../output.ts';
import { wholeNumber } from './flags.ts';

/** `gatewayctl token …` */
export function tokenCommand(env: Environment): Command {
  const token = new Command('token').description('Create, list and revoke tokens, and set their limits.');
  withLimitFlags(token.command('create'))
    .description('Create a token and print it: once, on standard output, and nothing else there.')
    .addOption(
      new Option('--kind <kind>', 'service tokens have limits, personal ones none')
        .choices(Object.keys(kinds))
        .default('service'),
    )
    .requiredOption('--label <text>', 'shown to the holder in /v1/usage: 1 to 100 characters on one line', labelText)
    .action(async ({ kind, label, ...limits }: LimitFlags & { kind: keyof typeof kinds; label: string }) => {
      await using plane = await openControlPlane(env);
      const request = { kind: kinds[kind], label, limits: limitsOf(limits) };
      const { tokenText, token: issued } = await plane.identity.issue(request, callOptions);
      print(`${tokenText}\n`);
      noteChange(plane, `created ${issued?.tokenId} (${label}); the token is not shown again`);
    });
  token
    .command('list')
    .description('List tokens, newest first.')
    .option('--all', 'include revoked ones')
    .option('--json', 'as JSON, one token a line')
    .action(async ({ all = false, json }: { readonly all?: boolean; readonly json?: boolean }) => {
      await using plane = await openControlPlane(env);
      const { tokens } = await plane.identity.list({ includeRevoked: all }, callOptions);
      print(formatRecords(columns, tokens, json));
    });
  token
    .command('revoke')
    .description('Revoke a token for good. Its running streams finish; its next request is refused.')
    .argument('<token-id>')
    .action(async (tokenId: string) => {
      await using plane = await openControlPlane(env);
      const revoked = await plane.identity.revoke({ tokenId }, callOptions);
      noteChange(plane, `revoked ${tokenId} (${revoked.token?.label})`);
    });
  withLimitFlags(token.command('set-limits'))
    .description('Replace both limits of a service token; one that is not given is removed.')
    .argument('<token-id>')
    .action(async (tokenId: string, flags: LimitFlags) => {
      await using plane = await openControlPlane(env);
      const changed = await plane.identity.setLimits({ tokenId, limits: limitsOf(flags) }, callOptions);
      noteChange(plane, `limits of ${tokenId} (${changed.token?.label}): ${limitsText(changed.token)}`);
    });
  return token;
}

const kinds = { service: TokenKind.SERVICE, personal: TokenKind.PERSONAL };

/** Says where the change is, too: a gateway that works on another database, or runs at another address, does not know of it. */
function noteChange({ database }: ControlPlane, change: string): void {
  note(change);
  if (database !== undefined) note(`no gateway answered: this was written to ${database}`);
}

interface LimitFlags {
  readonly rpm?: number;
  readonly tpd?: number;
}

function withLimitFlags(command: Command): Command {
  return command
    .option('--rpm <number>', 'requests per minute; not limited unless given', wholeNumber(0))
    .option('--tpd <number>', 'tokens per day; not limited unless given', wholeNumber(0));
}

/** The same rule as identity's, before anything is opened or sent. */
function labelText(text: string): string {
  try {
    return checkLabel(text);
  } catch (thrown) {
    throw thrown instanceof GatewayError ? new InvalidArgumentError(thrown.message) : thrown;
  }
}

function limitsOf({ rpm, tpd }: LimitFlags) {
  return {
    ...(rpm === undefined ? {} : { requestsPerMinute: rpm }),
    ...(tpd === undefined ? {} : { tokensPerDay: BigInt(tpd) }),
  };
}

const columns: Columns<Token> = {
  id: ({ tokenId }) => tokenId,
  kind: ({ kind }) => (kind === TokenKind.SERVICE ? 'service' : 'personal'),
  label: (token) => token.label,
  limits: limitsText,
  created: ({ createdAt }) => timeText(createdAt),
  revoked: ({ revokedAt }) => timeText(revokedAt),
};

function limitsText(token: Token | undefined): string {
  const { requestsPerMinute, tokensPerDay } = token?.limits ?? {};
  const perMinute = requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests/minute`];
  const perDay = tokensPerDay === undefined ? [] : [`${tokensPerDay} tokens/day`];
  return [...perMinute, ...perDay].join(', ') || 'none';
}
