import { type Check, endpointNamedBy, type Level } from './check.ts';
import { answers } from './checks/answers.ts';
import { chatStreams } from './checks/chat-streams.ts';
import { countTokens } from './checks/count-tokens.ts';
import { finishReasons } from './checks/finish-reasons.ts';
import { httpBodies } from './checks/http-bodies.ts';
import { httpHeaders } from './checks/http-headers.ts';
import { httpRefusals } from './checks/http-refusals.ts';
import { messagesStreams } from './checks/messages-streams.ts';
import { models } from './checks/models.ts';
import { operationsFailover } from './checks/operations-failover.ts';
import { operationsLimits } from './checks/operations-limits.ts';
import { operationsStreams } from './checks/operations-streams.ts';
import { chatRequests, messagesRequests, responsesRequests } from './checks/requests-of-one-format.ts';
import { responsesStreams } from './checks/responses-streams.ts';
import type { Rule } from './checks/rules.ts';
import { specificationAnswers } from './checks/specification-answers.ts';
import { specificationErrors } from './checks/specification-errors.ts';
import { specificationLimits } from './checks/specification-limits.ts';
import { specificationRelays } from './checks/specification-relays.ts';
import { streamFailures } from './checks/stream-failures.ts';
import { texts } from './checks/texts.ts';
import { toTheProvider } from './checks/to-the-provider.ts';
import { toolCalls } from './checks/tool-calls.ts';
import { usage } from './checks/usage.ts';

export const formatChecks = checksOf('formats', [
  httpRefusals,
  httpHeaders,
  httpBodies,
  answers,
  chatStreams,
  chatRequests,
  messagesStreams,
  messagesRequests,
  countTokens,
  responsesStreams,
  responsesRequests,
  texts,
  finishReasons,
  usage,
  toolCalls,
  toTheProvider,
  streamFailures,
  models,
]);

/** Every check, in the order of reports. */
export const allChecks: readonly Check[] = [
  ...formatChecks,
  ...checksOf('operations', [operationsLimits, operationsStreams, operationsFailover]),
  ...checksOf('specification', [specificationErrors, specificationAnswers, specificationRelays, specificationLimits]),
];

function checksOf(level: Level, rules: readonly (readonly Rule[])[]): readonly Check[] {
  return rules.flat().map((rule) => {
    const named = endpointNamedBy(rule.name);
    return { level, endpoints: named === undefined ? [] : [named], ...rule };
  });
}
