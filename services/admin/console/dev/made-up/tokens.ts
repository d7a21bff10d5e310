import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type TokenListing, TokenListingSchema, type TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { invalid } from './invalid.ts';

const day = 86_400_000;
const started = Date.now();
const ago = (days: number) => started - days * day;

function token(tokenId: string, label: string, init: object = {}): Token {
  const limits = { requestsPerMinute: 60, tokensPerDay: 2_000_000 };
  return create(TokenSchema, { tokenId, label, kind: TokenKind.SERVICE, limits, createdAtMs: ago(40), ...init });
}

const named = [
  token('7d0c2f44-5b1e-4a53-9c3e-0f5c7a2b9e11', 'ci', {
    note: 'Builds of the platform team; ask #platform',
    groupId: 'platform',
  }),
  token('0b7fe1a2-88aa-4c0d-8f5a-1f8d6b2c7e22', 'support assistant', {
    limits: { requestsPerMinute: 600, tokensPerDay: 40_000_000 },
    expiresAtMs: ago(-4),
  }),
  token('c3a9d6e1-1f2b-4f6e-9a7d-55c1e0f3a933', 'Anna (personal)', { kind: TokenKind.PERSONAL, limits: {} }),
  token('e8b1f0c7-7a3d-4e2f-b6c4-9d0a2f1b4c44', 'nightly batch', {
    limits: { tokensPerDay: 500_000, concurrentRequests: 4, strictTokens: true },
    groupId: 'platform',
    access: { models: ['gateway/snel', 'gpt-5.5*'], accountLabels: ['batch'] },
  }),
  token('19f4a7d2-3c6b-4d8e-a1f0-6e2d9b8c7a55', 'data science notebooks', { expiresAtMs: ago(-90) }),
  token('5ac3e9b8-6d1f-4b7a-8c2e-7f4a1d0b3e66', 'old partner', { revokedAtMs: ago(9) }),
];
const others = Array.from({ length: 70 }, (_, index) =>
  token(`f${String(index).padStart(7, '0')}-0000-4000-8000-000000000000`, `team ${index + 1}`, {
    createdAtMs: ago(100 + index),
  }),
);

/** Newest first. */
export const tokens: Token[] = [...named, ...others];

/**
 * "taken" is a label that is refused. Another operator changes the tokens of `contested` when the
 * viewer saves or rotates them.
 */
export const tokenService: Partial<ServiceImpl<typeof TokenService>> = {
  listTokens({ search, includeEnded, pageSize, pageToken, groupId: only, atLimit }) {
    const found = tokens.filter(
      ({ tokenId, label, note, revokedAtMs, groupId }) =>
        (only === '' || groupId === only) &&
        (includeEnded || revokedAtMs === undefined) &&
        (label.includes(search) || note.includes(search) || tokenId.startsWith(search)),
    );
    const from = Number(pageToken || 0);
    const to = from + (pageSize || 50);
    const listed = found.slice(from, to).map(listing);
    return {
      tokens: atLimit ? listed.filter(({ limits }) => limits?.requests?.remaining === 0) : listed,
      nextPageToken: to < found.length ? String(to) : '',
    };
  },
  getToken: ({ token: asked }) => ({ token: listing(tokenOf(asked)) }),
  issueToken({ label, kind, limits, note, expiresAtMs, groupId, access }) {
    if (label.trim() === '') throw invalid({ label: 'Give it a name of 1 to 100 characters.' });
    if (label === 'taken') throw invalid({ label: 'There is a token of that name. Choose another one.' });
    const issued = token(crypto.randomUUID(), label, {
      ...{ kind, limits, note, expiresAtMs, groupId, access },
      createdAtMs: Date.now(),
    });
    const labelIsInUse = tokens.some((other) => other.label === label && other.revokedAtMs === undefined);
    tokens.unshift(issued);
    return { token: issued, tokenText: madeUpText, labelIsInUse };
  },
  updateToken({ tokenId, expectedRevision, ...change }) {
    const { label, limits, note, expiresAtMs, clearExpiry, groupId, access } = change;
    const changed = tokenOf(tokenId);
    changedByAnother(changed);
    checkRevision(changed, expectedRevision);
    if (label !== undefined) changed.label = label;
    if (limits !== undefined) changed.limits = limits;
    if (access !== undefined) changed.access = access;
    if (groupId !== undefined) changed.groupId = groupId;
    if (note !== undefined) changed.note = note;
    if (expiresAtMs !== undefined || clearExpiry) changed.expiresAtMs = expiresAtMs;
    changed.revision += 1;
    return { token: changed };
  },
  rotateToken({ tokenId, expectedRevision, keepOldSeconds }) {
    const rotated = tokenOf(tokenId);
    changedByAnother(rotated);
    checkRevision(rotated, expectedRevision);
    rotated.revision += 1;
    rotated.oldTextValidUntilMs = keepOldSeconds === 0 ? undefined : Date.now() + keepOldSeconds * 1_000;
    return { token: rotated, tokenText: madeUpText };
  },
  revokeToken({ tokenId }) {
    const revoked = tokenOf(tokenId);
    revoked.revokedAtMs = Date.now();
    return { token: revoked };
  },
};

const contested = ['nightly batch', 'data science notebooks'];

function changedByAnother(token: Token): void {
  if (!contested.includes(token.label) || token.revision !== 0) return;
  Object.assign(token, { note: 'Moved to 03:00 by Bram', revision: 1 });
}

function checkRevision({ revision }: Token, expected: number): void {
  if (revision === expected) return;
  throw new ConnectError(
    'The token was changed meanwhile. Review the current state before you change it.',
    Code.Aborted,
  );
}

const madeUpText = 'gw_s_4mAd3Up9nUmb3rsAndL3tt3rsOnly00x1Yz7Q';

function tokenOf(asked: string): Token {
  const found = tokens.filter(({ tokenId, label }) => tokenId.startsWith(asked) || label === asked);
  if (found.length !== 1 || found[0] === undefined) throw new ConnectError('There is no such token.', Code.NotFound);
  return found[0];
}

function listing(each: Token): TokenListing {
  const seed = [...each.tokenId].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  const tokensByDay = Array.from({ length: 14 }, (_, index) =>
    each.revokedAtMs !== undefined && index > 4
      ? 0
      : Math.round((1 + Math.sin(seed + index)) * 40_000 * ((seed % 9) + (index % 3))),
  );
  const [rpm, tpd] = [each.limits?.requestsPerMinute, each.limits?.tokensPerDay];
  const running = each.limits?.concurrentRequests;
  const waitMs = started + 3_600_000 * 5;
  const used = Math.round((((seed + Math.floor(Date.now() / 5_000)) % 100) / 100) * (rpm ?? 0));
  return create(TokenListingSchema, {
    token: structuredClone(each),
    groupName: { platform: 'Platform', support: 'Support' }[each.groupId] ?? '',
    tokensByDay,
    limits: {
      ...(rpm !== undefined && {
        requests: { limit: rpm, remaining: rpm - used, nextSlotAtMs: Date.now() + 9_000 },
      }),
      ...(tpd !== undefined && {
        tokens: {
          limit: tpd,
          remaining: each.label === 'ci' ? 0 : ((tpd * seed) % 100) / 100,
          resetsAtMs: waitMs,
        },
      }),
      ...(running !== undefined && { concurrency: { limit: running, running: Math.min(running, seed % 3) } }),
    },
  });
}
