import type { JsonObject } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { clientModelsOf } from '@gateway/presentation';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import type { MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import { type AccessRules, type Token, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Model } from '@gateway/proto/pool/v1/model_pb.js';
import { personOf } from '../access/caller.ts';
import type { AdminParts } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';
import { readableJson } from '../readable-json.ts';
import { overviewOf } from './pool-service.ts';
import { groupsOf } from './token-listings.ts';

/**
 * The tokens of the signed-in person. The person is always that of the session: no request can name
 * another one. Identity checks the rules.
 */
export function myTokenService(parts: AdminParts): ServiceImpl<typeof MyTokenService> {
  const { peers, audit } = parts;
  const { people } = peers;
  return {
    async listMyTokens(_request, context) {
      const { personId, groupId } = personOf(context);
      const [{ tokens, rules }, models] = await Promise.all([
        people.listPersonTokens({ personId }, peerCall(context.signal)),
        suggestedModels(parts, groupId, context.signal),
      ]);
      return { tokens, rules, models };
    },

    async issueMyToken({ label, expiresAtMs }, context) {
      const { personId } = personOf(context);
      return await audit.change(context, { action: 'my_token.issue', subject: label }, async () => {
        const request = { personId, label, expiresAtMs };
        const { token, tokenText } = await people.issuePersonToken(request, peerCall(context.signal));
        return { answer: { token, tokenText }, subject: token?.tokenId ?? '', after: shown(token) };
      });
    },

    async rotateMyToken({ tokenId, keepOldSeconds }, context) {
      const { personId } = personOf(context);
      return await audit.change(context, { action: 'my_token.rotate', subject: tokenId }, async () => {
        const request = { personId, tokenId, keepOldSeconds };
        const { token, tokenText } = await people.rotatePersonToken(request, peerCall(context.signal));
        return { answer: { token, tokenText }, after: { ...shown(token), keepOldSeconds } };
      });
    },

    async revokeMyToken({ tokenId }, context) {
      const { personId } = personOf(context);
      return await audit.change(context, { action: 'my_token.revoke', subject: tokenId }, async () => {
        const { token } = await people.revokePersonToken({ personId, tokenId }, peerCall(context.signal));
        return { answer: { token }, after: shown(token) };
      });
    },
  };
}

/** One model for each kind of client, of those that the person's group may use. */
async function suggestedModels(parts: AdminParts, groupId: string, signal: AbortSignal) {
  const { peers } = parts;
  const [overview, listed, groups] = await Promise.all([
    overviewOf(parts, '', signal),
    peers.broker.listModels({}, peerCall(signal)),
    groupsOf(peers, [{ groupId }], signal),
  ]);
  const rules = groups.get(groupId)?.access;
  const models = listed.models.filter((model) => mayUse(rules, model));
  const ids = new Set(models.map(({ id }) => id));
  const classes = overview.classes.filter(({ id }) => ids.has(id));
  const { chat, small, messages, responses } = clientModelsOf({ overview: { ...overview, classes }, models });
  const isOwn = responses !== undefined && (rules === undefined || ids.has(responses));
  return { chat: chat ?? '', small: small ?? '', messages: messages ?? '', responses: isOwn ? responses : '' };
}

function mayUse(rules: AccessRules | undefined, { id, servedBy }: Model): boolean {
  if (rules === undefined) return true;
  const { models, accountLabels: labels } = rules;
  const isAllowed = models.length === 0 || matchesAnyPattern(id, models);
  return isAllowed && (labels.length === 0 || servedBy.some((each) => each.labels.some((one) => labels.includes(one))));
}

/** The token in the audit log. It contains no secret. */
function shown(token: Token | undefined): JsonObject | undefined {
  return token && readableJson(TokenSchema, token);
}
