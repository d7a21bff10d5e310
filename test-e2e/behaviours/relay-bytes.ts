import type { Topology } from '../topologies/topology.ts';
import { brokenResponsesBehaviour } from './broken-responses.ts';
import { relayAffinityBehaviour } from './relay-affinity.ts';
import { relayAnswersBehaviour } from './relay-answers.ts';
import { relayFailuresBehaviour } from './relay-failures.ts';
import { relayHangUpBehaviour } from './relay-hang-up.ts';
import { relayHeadersBehaviour } from './relay-headers.ts';
import { relayReasoningBehaviour } from './relay-reasoning.ts';
import { relayRequestsBehaviour } from './relay-requests.ts';
import { relayUsageBehaviour } from './relay-usage.ts';

/**
 * The endpoints that relay a provider's own format: the bytes that reach the provider, and the
 * bytes that come back.
 * @see spec "POST /v1/messages", "POST /v1/messages/count_tokens", "POST /v1/responses"
 */
export function relayBytesBehaviour(gateway: () => Topology): void {
  relayRequestsBehaviour(gateway);
  relayAnswersBehaviour(gateway);
  relayHeadersBehaviour(gateway);
  relayAffinityBehaviour(gateway);
  relayReasoningBehaviour(gateway);
  relayFailuresBehaviour(gateway);
  brokenResponsesBehaviour(gateway);
  relayHangUpBehaviour(gateway);
  relayUsageBehaviour(gateway);
}
