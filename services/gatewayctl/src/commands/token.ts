import { reachedText, usedToday } from '@gateway/presentation/token-use-text';
import {
  IssueTokenResponseSchema,
  RotateTokenResponseSchema,
  type TokenListing,
  TokenListingSchema,
  TokenService,
} from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Concurrency, Limits } from '@gateway/proto/limiter/v2/limit_pb.js';
import { epochMs } from '@gateway/time';
import { Command, Option } from 'commander';
import type { AdminConnection } from '../connection/admin-connection.ts';
import { findGroupId } from '../connection/named-group.ts';
import { notFoundToUndefined } from '../connection/not-found.ts';
import { firstOf, type Page } from '../connection/pages.ts';
import { UsageError } from '../failures.ts';
import { note, type OutputFlags, print, printList, printMessage, withOutput } from '../output/print.ts';
import { type Cell, type Columns, factSheet } from '../output/table.ts';
import { timeText } from '../output/words.ts';
import { type CommandContext, noteChange } from './context.ts';
import { comingMoment, durationMs, idOrPrefix } from './flags.ts';
import { changedAccess, changedLimits, strictText, type TermFlags, withTerms } from './terms.ts';

const maxKeepOldMs = 30 * 86_400_000;

interface ListFlags extends OutputFlags {
  readonly all?: boolean;
  readonly atLimit?: boolean;
}

/** `gatewayctl token …` */
export function tokenCommand({ connect, env }: CommandContext): Command {
  const token = new Command('token').description(
    'Manages tokens of callers. <token> is an id, the beginning of an id, or a label that identifies one token.',
  );
  withOutput(token.command('list'))
    .description('Lists tokens, newest first, with the current use of their limits.')
    .argument(
      '[text]',
      'only tokens with this text in their label or note, or at the beginning of their id',
      idOrPrefix,
    )
    .option('--all', 'include revoked and expired tokens')
    .option('--at-limit', 'only tokens that have reached one of their own limits')
    .action(async (search: string | undefined, { all = false, atLimit = false, ...output }: ListFlags) => {
      await using admin = await connect({ reads: true });
      const asked = { search: search ?? '', includeEnded: all, atLimit };
      const ask = (page: Page) => admin.clientOf(TokenService).listTokens({ ...asked, ...page });
      const pages = firstOf(Number.POSITIVE_INFINITY, ask, ({ tokens }) => tokens, 200);
      const none = 'No tokens. Issue one with gatewayctl token issue.';
      const whenNone = search === undefined && !atLimit ? none : 'No matching tokens.';
      await printList(output, TokenListingSchema, pages, { columns, whenNone });
    });
  token
    .command('print')
    .description(
      'Prints your own token as a person, for clients that run a command to get one. Refreshes it if it is about to expire. Never asks: sign in with gatewayctl login --person first.',
    )
    .action(async () => {
      const { personToken, readGatewayUrl } = await import('../connection/person-session.ts');
      print(`${await personToken(env, readGatewayUrl(env))}\n`);
    });
  withOutput(token.command('show'))
    .description('Shows a token with its limits and recent usage.')
    .argument('<token>', 'id, beginning of an id, or label', idOrPrefix)
    .action(async (named: string, output: OutputFlags) => {
      await using admin = await connect({ reads: true });
      await printMessage(output, TokenListingSchema, await findToken(admin, named), tokenText);
    });
  withTerms(withOutput(token.command('issue').alias('create')))
    .description('Issues a token. Prints it once, as the only text on standard output.')
    .addOption(
      new Option('--kind <kind>', 'service (with limits) or personal (without limits)')
        .choices(Object.keys(kinds))
        .default('service'),
    )
    .requiredOption('--label <text>', 'label, shown to the holder in /v1/usage: 1 to 100 characters on one line')
    .option('--group <group>', 'its group: an id, the beginning of an id, or a name', idOrPrefix)
    .option('--expires <when>', 'expiry: 30d, a day, or a time', comingMoment)
    .action(async ({ kind, label, group, note = '', expires, output, ...terms }: IssueFlags) => {
      await using admin = await connect({ issues: true });
      const groupId = group === undefined ? '' : await findGroupId(admin, group);
      const granted = { limits: changedLimits(terms) ?? {}, access: changedAccess(terms) };
      const request = { kind: kinds[kind], label, ...granted, groupId, note, expiresAtMs: expires };
      const issued = await admin.clientOf(TokenService).issueToken(request);
      await printMessage({ output }, IssueTokenResponseSchema, issued, ({ tokenText: text }) => `${text}\n`);
      noteChange(
        admin,
        `created ${issued.token?.tokenId} (${issued.token?.label}): ${limitsText(issued.token?.limits)}; copy it now; you won't see it again`,
      );
      if (issued.labelIsInUse) warnOfLabel(issued.token);
    });
  withTerms(token.command('set'))
    .description('Changes the given fields of a token.')
    .argument('<token>', 'id, beginning of an id, or label', idOrPrefix)
    .option('--label <text>', 'new label')
    .option('--group <group>', 'its group: an id, the beginning of an id, a name, or none', idOrPrefix)
    .option('--expires <when>', 'expiry: 30d, a day, a time, or never', (text) =>
      text === 'never' ? text : comingMoment(text),
    )
    .action(async (named: string, flags: SetFlags) => {
      if (Object.keys(flags).length === 0) throw new UsageError('nothing to change: see gatewayctl token set --help.');
      await using admin = await connect();
      const { token: seen } = await findToken(admin, named);
      const request = {
        tokenId: seen?.tokenId ?? '',
        expectedRevision: seen?.revision ?? 0,
        ...changesOf(flags, seen),
        groupId: flags.group === undefined ? undefined : await findGroupId(admin, flags.group),
      };
      const { token: changed } = await admin.clientOf(TokenService).updateToken(request);
      noteChange(admin, `changed ${changed?.tokenId} (${changed?.label}): ${limitsText(changed?.limits)}`);
    });
  withOutput(token.command('rotate'))
    .description(
      'Replaces the secret of a token and prints the new one once. The token keeps its id, limits and usage.',
    )
    .argument('<token>', 'id, beginning of an id, or label', idOrPrefix)
    .option('--keep-old <duration>', 'how long the old secret stays valid, such as 1h: at most 30d', durationMs, 0)
    .action(async (named: string, { keepOld, ...output }: OutputFlags & { readonly keepOld: number }) => {
      if (keepOld > maxKeepOldMs) throw new UsageError('--keep-old: At most 30d.');
      await using admin = await connect({ issues: true });
      const { tokenId = '', revision: expectedRevision = 0 } = (await findToken(admin, named)).token ?? {};
      const request = { tokenId, expectedRevision, keepOldSeconds: keepOld / 1_000 };
      const rotated = await admin.clientOf(TokenService).rotateToken(request);
      await printMessage(output, RotateTokenResponseSchema, rotated, ({ tokenText: text }) => `${text}\n`);
      const old = keepOld === 0 ? 'no longer works' : `works until ${timeText(epochMs() + keepOld)}`;
      noteChange(
        admin,
        `rotated ${tokenId} (${rotated.token?.label}); the old secret ${old}; copy the new one now, you won't see it again`,
      );
    });
  token
    .command('revoke')
    .description('Revokes a token permanently. Requests in flight complete; new requests are rejected.')
    .argument('<token>', 'id, beginning of an id, or label', idOrPrefix)
    .action(async (named: string) => {
      await using admin = await connect();
      const { tokenId = '', label = '', revokedAtMs } = (await findToken(admin, named)).token ?? {};
      const revokedAt = timeText(revokedAtMs);
      if (revokedAt !== '') return note(`${tokenId} (${label}) was already revoked at ${revokedAt}`);
      await admin.clientOf(TokenService).revokeToken({ tokenId });
      noteChange(admin, `revoked ${tokenId} (${label})`);
    });
  return token;
}

/** The one token with this id, this beginning of an id, or this label. */
async function findToken(admin: AdminConnection, named: string): Promise<TokenListing> {
  const found = await admin.clientOf(TokenService).getToken({ token: named }).catch(notFoundToUndefined);
  const token = found?.token;
  if (token === undefined) throw new Error(`no token ${named}. Run gatewayctl token list --all to see all tokens.`);
  return token;
}

/** The id of that token; undefined if no token is named. */
export async function findTokenId(admin: AdminConnection, named: string | undefined): Promise<string> {
  return named === undefined ? '' : ((await findToken(admin, named)).token?.tokenId ?? '');
}

const kinds = { service: TokenKind.SERVICE, personal: TokenKind.PERSONAL };

interface IssueFlags extends OutputFlags, TermFlags {
  readonly kind: keyof typeof kinds;
  readonly label: string;
  readonly group?: string;
  readonly expires?: number;
}

interface SetFlags extends TermFlags {
  readonly label?: string;
  readonly group?: string;
  readonly expires?: number | 'never';
}

function changesOf({ label, note, expires, group: _, ...terms }: SetFlags, seen: Token | undefined) {
  return {
    label,
    note,
    limits: changedLimits(terms, seen?.limits),
    access: changedAccess(terms, seen?.access),
    ...(expires === 'never' ? { clearExpiry: true } : { expiresAtMs: expires }),
  };
}

const columns: Columns<TokenListing> = {
  id: ({ token }) => token?.tokenId ?? '',
  label: ({ token }) => token?.label ?? '',
  kind: ({ token }) => kindText(token?.kind),
  group: { of: ({ groupName }) => groupName, spare: true },
  'requests/min': requestsText,
  'tokens/day': tokensText,
  today: { of: usedOf, spare: true },
  expires: { of: ({ token }) => timeText(token?.expiresAtMs), spare: true },
  state: listedStateCell,
};

function kindText(kind = TokenKind.UNSPECIFIED): string {
  return kind === TokenKind.PERSONAL ? 'personal' : 'service';
}

function requestsText({ token, limits }: TokenListing): string {
  return usedText(token?.limits?.requestsPerMinute, limits?.requests?.remaining);
}

function tokensText(listing: TokenListing): string {
  const { token, limits } = listing;
  const used = usedText(token?.limits?.tokensPerDay, limits?.tokens?.remaining, usedOf(listing));
  return `${used}${strictText(token?.limits)}`;
}

function leftOf(concurrency: Concurrency | undefined): number | undefined {
  return concurrency && Math.max(0, concurrency.limit - concurrency.running);
}

function usedOf({ limits, tokensByDay }: TokenListing): number {
  return usedToday(limits?.tokens, tokensByDay.at(-1) ?? 0);
}

/** "12 of 60": the used part of the limit; only the limit if the limiter could not be asked. */
function usedText(limit: number | undefined, left: number | undefined, used?: number): string {
  if (limit === undefined) return '–';
  if (left === undefined) return `${limit}`;
  return `${used ?? Math.max(0, limit - left)} of ${limit}${reachedText(left)}`;
}

function stateCell({ token }: TokenListing): Cell {
  if (token?.revokedAtMs !== undefined) return { text: 'revoked', color: 'dim' };
  const isOver = token?.expiresAtMs !== undefined && token.expiresAtMs <= epochMs();
  return isOver ? { text: 'expired', color: 'yellow' } : { text: 'valid', color: 'green' };
}

/** The state in a list, also of the old secret while a rotation keeps it valid. */
function listedStateCell(listing: TokenListing): Cell {
  const [state, old] = [stateCell(listing), oldSecretText(listing)];
  return old === '' || typeof state !== 'object' ? state : { ...state, text: `${state.text} (old secret ${old})` };
}

function oldSecretText({ token }: TokenListing): string {
  return token?.oldTextValidUntilMs === undefined ? '' : `valid until ${timeText(token.oldTextValidUntilMs)}`;
}

function tokenText(listing: TokenListing): string {
  const { token, limits, tokensByDay, groupName } = listing;
  return factSheet({
    id: token?.tokenId,
    label: token?.label,
    kind: kindText(token?.kind),
    group: groupName,
    state: stateCell(listing),
    'requests/min': requestsText(listing),
    'next slot': limits?.requests?.remaining === 0 ? timeText(limits.requests.nextSlotAtMs) : undefined,
    'tokens/day': tokensText(listing),
    'day ends': timeText(limits?.tokens?.resetsAtMs),
    'last days': tokensByDay.join(' '),
    running: usedText(token?.limits?.concurrentRequests, leftOf(limits?.concurrency)),
    models: token?.access?.models.join(', '),
    'account labels': token?.access?.accountLabels.join(', '),
    created: timeText(token?.createdAtMs),
    expires: timeText(token?.expiresAtMs),
    'old secret': oldSecretText(listing),
    revoked: timeText(token?.revokedAtMs),
    note: token?.note,
  });
}

/** Reports name tokens by label, and commands accept a label in place of an id. */
function warnOfLabel(issued: Token | undefined): void {
  note(
    `warning: another valid token has the label ${issued?.label}. Commands can't tell them apart by label. To rename this one: gatewayctl token set ${issued?.tokenId} --label <text>`,
  );
}

function limitsText(limits: Partial<Limits> = {}): string {
  const { requestsPerMinute, tokensPerDay, concurrentRequests } = limits;
  const perMinute = requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests/minute`];
  const perDay = tokensPerDay === undefined ? [] : [`${tokensPerDay} tokens/day${strictText(limits)}`];
  const atATime = concurrentRequests === undefined ? [] : [`${concurrentRequests} requests at a time`];
  return [...perMinute, ...perDay, ...atATime].join(', ') || 'no limits';
}
