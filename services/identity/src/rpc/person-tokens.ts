import { GatewayError } from '@gateway/errors';
import type { PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import { createTokenText, detailProblems, maxKeepOldSeconds, tokenSha256 } from '@gateway/tokens';
import type { ChangeFeed } from '../changes/change-feed.ts';
import type { PersonTokenRules } from '../config.ts';
import { type HashKey, hashWith } from '../hashing/hash-key.ts';
import type { PersonStore } from '../people/person-store.ts';
import type { PersonTokens } from '../people/person-tokens.ts';
import type { Token, TokenStore } from '../store/token-store.ts';
import { toTokenMessage } from './token-messages.ts';

export interface PersonTokenParts {
  readonly people: Pick<PersonStore, 'find'>;
  readonly personTokens: PersonTokens;
  readonly tokens: Pick<TokenStore, 'rotate' | 'revoke'>;
  /** The current one first: it hashes new tokens. */
  readonly hashKeys: readonly HashKey[];
  readonly rules: PersonTokenRules;
  readonly changes: Pick<ChangeFeed, 'announce'>;
}

type Method = 'listPersonTokens' | 'issuePersonToken' | 'rotatePersonToken' | 'revokePersonToken';

/**
 * Tokens that people issue themselves. The rules are checked here, whatever the caller has checked:
 * personal, in the person's group, with an expiry, and never those of another person.
 */
export function personTokenHandlers(parts: PersonTokenParts): Pick<Handlers<typeof PersonService>, Method> {
  const { people, personTokens, tokens, hashKeys, rules, changes } = parts;
  const [currentKey] = hashKeys;
  if (currentKey === undefined) throw new TypeError('Tokens of people need at least one key.');
  // The note is for operators only.
  const message = (token: Token) => toTokenMessage({ ...token, note: '' }, epochMs());
  const newText = () => {
    const tokenText = createTokenText('personal');
    return { tokenText, hash: hashWith(currentKey, tokenSha256(tokenText)) };
  };
  const ownToken = async (personId: string, tokenId: string): Promise<Token> => {
    const token = await personTokens.find(personId, tokenId);
    if (token !== undefined) return token;
    throw new GatewayError('not_found', 'You have issued no token with this id.');
  };
  const requireIssuing = () => {
    if (!rules.mayIssue) throw new GatewayError('invalid_request', notAllowed);
  };

  return {
    async listPersonTokens({ personId }) {
      const [own, ids] = await Promise.all([
        personTokens.list(personId, epochMs()),
        personTokens.allIds(personId, mostReported),
      ]);
      return { tokens: own.map(message), rules, allTokenIds: [...ids] };
    },

    async issuePersonToken({ personId, label, expiresAtMs: wantedMs }) {
      requireIssuing();
      const nowMs = epochMs();
      const latestMs = nowMs + rules.maxDays * dayMs;
      const expiresAtMs = wantedMs ?? latestMs;
      const problems = detailProblems({ kind: 'personal', label, expiresAtMs }, nowMs);
      const texts = Object.entries(problems).map(([field, text]) => `${field} ${text}`);
      if (expiresAtMs > latestMs) texts.push(`expiresAt must be at most ${rules.maxDays} days from now.`);
      if (texts.length > 0) throw new GatewayError('invalid_request', texts.join(' '));
      const { tokenText, hash } = newText();
      const issued = await personTokens.issue(
        personId,
        { label: label.trim(), hash, expiresAtMs },
        mostOfPerson,
        nowMs,
      );
      if (issued === 'disabled') throw new GatewayError('invalid_request', disabled);
      if (issued === 'unconfirmed') throw new GatewayError('invalid_request', 'Sign in again first.');
      if (issued === 'full') {
        throw new GatewayError('invalid_request', `You have ${mostOfPerson} valid tokens. Revoke one of them first.`);
      }
      return { token: message(issued), tokenText };
    },

    async rotatePersonToken({ personId, tokenId, keepOldSeconds }) {
      requireIssuing();
      if (keepOldSeconds > maxKeepOldSeconds) {
        throw new GatewayError('invalid_request', `keep_old_seconds must be at most ${maxKeepOldSeconds} (30 days).`);
      }
      const nowMs = epochMs();
      const before = await ownToken(personId, tokenId);
      // Disabling a person revokes the tokens of the person, so that it is also found in this way.
      const isDisabled = (await people.find(personId))?.disabled_at_ms !== null;
      if (isDisabled) throw new GatewayError('invalid_request', disabled);
      if (before.revoked_at_ms !== null) throw new GatewayError('invalid_request', 'The token is revoked.');
      if (before.expires_at_ms !== null && nowMs >= before.expires_at_ms) {
        throw new GatewayError('invalid_request', 'The token has expired. Issue another one.');
      }
      const { tokenText, hash } = newText();
      const oldUntilMs = keepOldSeconds === 0 ? undefined : nowMs + keepOldSeconds * 1_000;
      const rotated = await tokens.rotate(tokenId, hash, oldUntilMs, before.revision);
      if (rotated === undefined) {
        throw new GatewayError('invalid_request', 'The token was changed meanwhile. Try again.');
      }
      changes.announce();
      return { token: message(rotated), tokenText };
    },

    async revokePersonToken({ personId, tokenId }) {
      await ownToken(personId, tokenId);
      const token = await tokens.revoke(tokenId, epochMs());
      changes.announce();
      return token === undefined ? {} : { token: message(token) };
    },
  };
}

const dayMs = 86_400_000;

/** The most valid tokens that one person may have issued. */
const mostOfPerson = 20;

/** The most tokens whose usage is added up for a person. */
const mostReported = 1_000;

const notAllowed = 'People may not issue tokens here. An operator can allow it: PEOPLE_MAY_ISSUE_TOKENS.';

const disabled = 'An operator has disabled your access to the gateway.';
