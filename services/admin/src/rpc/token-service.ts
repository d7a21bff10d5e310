import type { JsonObject } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import type { IssueTokenRequest, TokenService, UpdateTokenRequest } from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { epochMs } from '@gateway/time';
import { detailProblems, type GivenDetails, maxKeepOldSeconds } from '@gateway/tokens';
import type { AdminParts } from '../parts.ts';
import { pagesOf, peerCall } from '../peer-calls.ts';
import { readableJson } from '../readable-json.ts';
import { changedMeanwhile, checkSentences, type FieldProblems, invalidFields, notFound } from './problems.ts';
import { tokenListings, tokensAtLimit } from './token-listings.ts';

/**
 * The callers' tokens. Problems are reported before the request reaches identity, which applies the
 * same rules to every caller.
 */
export function tokenService(parts: AdminParts): ServiceImpl<typeof TokenService> {
  const { peers, audit } = parts;
  const { identity } = peers;
  return {
    async listTokens({ search, includeEnded, groupId, pageSize, pageToken, atLimit }, context) {
      if (pageSize > maxPageSize) throw invalidFields({ pageSize: `Must be at most ${maxPageSize}.` });
      const page = {
        search: search.trim(),
        includeRevoked: includeEnded,
        groupId,
        pageSize: pageSize || 50,
      };
      const { signal } = context;
      for (let read = 1, next = pageToken; ; read++) {
        const { tokens, nextPageToken } = await identity.list({ ...page, pageToken: next }, peerCall(signal));
        const shown = atLimit ? await tokensAtLimit(parts, tokens, signal) : tokens;
        const isEnough = !atLimit || shown.length > 0 || nextPageToken === '' || read === mostPagesWithoutMatch;
        if (isEnough) return { tokens: await tokenListings(parts, shown, signal), nextPageToken };
        next = nextPageToken;
      }
    },

    async getToken({ token: wanted }, context) {
      const token = await meantToken(parts, wanted.trim(), context);
      const [listing] = await tokenListings(parts, [token], context.signal);
      return { token: listing };
    },

    async issueToken(request, context) {
      check(request, kindOf(request.kind), epochMs());
      const { $typeName: _, ...details } = request;
      return await audit.change(context, { action: 'token.issue', subject: '' }, async () => {
        const labelIsInUse = await hasValidToken(parts, request.label.trim(), context);
        const { token, tokenText } = await identity.issue(details, peerCall(context.signal));
        return { answer: { token, tokenText, labelIsInUse }, subject: token?.tokenId ?? '', after: shown(token) };
      });
    },

    async updateToken(request, context) {
      const { $typeName: _, ...change } = request;
      const current = () => tokenById(parts, request.tokenId, context);
      const { kind } = await current();
      check(request, kindOf(kind), epochMs());
      return await audit.change(context, { action: 'token.update', subject: request.tokenId }, async () => {
        for (;;) {
          // Even if any revision will do: `before` in the audit log must be what this change
          // replaced.
          const before = await current();
          const expectedRevision = request.expectedRevision || before.revision;
          const { token, conflict } = await identity.update({ ...change, expectedRevision }, peerCall(context.signal));
          if (!conflict) return { answer: { token }, before: shown(before), after: shown(token) };
          if (request.expectedRevision !== 0) throw changedMeanwhile('The token');
        }
      });
    },

    async rotateToken({ tokenId, keepOldSeconds, expectedRevision }, context) {
      if (keepOldSeconds > maxKeepOldSeconds) throw invalidFields({ keepOldSeconds: 'Must be at most 30 days.' });
      const before = shown(await tokenById(parts, tokenId, context));
      return await audit.change(context, { action: 'token.rotate', subject: tokenId, before }, async () => {
        const request = { tokenId, keepOldSeconds, expectedRevision };
        const { token, tokenText, conflict } = await identity.rotate(request, peerCall(context.signal));
        if (conflict) throw changedMeanwhile('The token');
        return { answer: { token, tokenText }, after: { ...shown(token), keepOldSeconds } };
      });
    },

    async revokeToken({ tokenId }, context) {
      const current = await tokenById(parts, tokenId, context);
      // Nothing changes, so that the audit log gets no second entry.
      if (current.revokedAtMs !== undefined) return { token: current };
      const before = shown(current);
      return await audit.change(context, { action: 'token.revoke', subject: tokenId, before }, async () => {
        const { token } = await identity.revoke({ tokenId }, peerCall(context.signal));
        return { answer: { token }, after: shown(token) };
      });
    },
  };
}

const maxPageSize = 1_000;
/** One call asks the limiter about the tokens of at most this many pages. */
const mostPagesWithoutMatch = 20;

/**
 * The one token with this id, this beginning of an id, or this label. A label means the valid token
 * that has it.
 */
async function meantToken(parts: AdminParts, wanted: string, context: HandlerContext): Promise<Token> {
  if (wanted === '') throw invalidFields({ token: 'Enter an id, the beginning of an id, or a label.' });
  const found: Token[] = [];
  for await (const { tokens } of tokensWith(parts, wanted, context)) {
    found.push(...tokens.filter(({ tokenId, label }) => label === wanted || tokenId.startsWith(wanted)));
  }
  const valid = found.filter((token) => !hasEnded(token, epochMs()));
  const meant = found.find(({ tokenId }) => tokenId === wanted) ?? (valid.length === 1 ? valid[0] : undefined);
  if (meant !== undefined) return meant;
  const [only, another] = found;
  if (only === undefined) throw notFound(`token with the id or label ${wanted}`);
  if (another === undefined) return only;
  const some = found.slice(0, 5).map(({ tokenId, label }) => `${tokenId} (${label})`);
  const more = found.length > some.length ? `, and ${found.length - some.length} more` : '';
  throw new ConnectError(
    `"${wanted}" matches several tokens: ${some.join(', ')}${more}. Enter an id.`,
    Code.InvalidArgument,
  );
}

async function hasValidToken(parts: AdminParts, label: string, context: HandlerContext): Promise<boolean> {
  for await (const { tokens } of tokensWith(parts, label, context)) {
    if (tokens.some((token) => token.label === label && !hasEnded(token, epochMs()))) return true;
  }
  return false;
}

/** All tokens with this text in their label or note, or at the beginning of their id. */
function tokensWith({ peers }: AdminParts, search: string, { signal }: HandlerContext) {
  const asked = { search, includeRevoked: true, pageSize: maxPageSize };
  return pagesOf((pageToken) => peers.identity.list({ ...asked, pageToken }, peerCall(signal)));
}

function hasEnded({ revokedAtMs, expiresAtMs }: Token, nowMs: number): boolean {
  return revokedAtMs !== undefined || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
}

async function tokenById({ peers }: AdminParts, tokenId: string, context: HandlerContext): Promise<Token> {
  if (tokenId === '') throw invalidFields({ tokenId: 'Must be a token id.' });
  const { tokens } = await peers.identity.list({ tokenIds: [tokenId] }, peerCall(context.signal));
  const [token] = tokens;
  if (token === undefined) throw notFound(`token ${tokenId}`);
  return token;
}

type Details = Pick<IssueTokenRequest, 'limits' | 'expiresAtMs' | 'access'> &
  Partial<Pick<UpdateTokenRequest, 'label' | 'note' | 'clearExpiry'>>;

function check(
  { label, note, limits, access, expiresAtMs, clearExpiry }: Details,
  kind: GivenDetails['kind'],
  nowMs: number,
) {
  const problems: FieldProblems = {
    ...detailProblems({ kind, label, note, limits, access, expiresAtMs }, nowMs),
    ...(limits?.budget === undefined ? {} : { 'limits.budget': 'must be absent: budgets belong to groups.' }),
    ...(kind === undefined ? { kind: 'must be service or personal.' } : {}),
    ...(clearExpiry && expiresAtMs !== undefined ? { clearExpiry: 'must not be set together with an end.' } : {}),
  };
  checkSentences(problems);
}

function kindOf(kind: TokenKind): GivenDetails['kind'] {
  if (kind === TokenKind.SERVICE) return 'service';
  return kind === TokenKind.PERSONAL ? 'personal' : undefined;
}

/** The token in the audit log. It contains no secret. */
function shown(token: Token | undefined): JsonObject | undefined {
  return token && readableJson(TokenSchema, token);
}
