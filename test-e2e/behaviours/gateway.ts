import { describeTopology } from '../topologies/describe-topology.ts';
import type { Topology } from '../topologies/topology.ts';
import { accountListBehaviour } from './account-list.ts';
import { adminPortBehaviour } from './admin-port.ts';
import { authHeadersBehaviour } from './auth-headers.ts';
import { badInputBehaviour } from './bad-input.ts';
import { bodyArrivalBehaviour } from './body-arrival.ts';
import { bodySharesBehaviour } from './body-shares.ts';
import { brokenAnswersBehaviour } from './broken-answers.ts';
import { chatCompletionsBehaviour } from './chat-completions.ts';
import { contractBehaviour } from './contract.ts';
import { costsBehaviour } from './costs.ts';
import { failingAccountBehaviour } from './failing-account.ts';
import { failoverBehaviour } from './failover.ts';
import { groupsBehaviour } from './groups.ts';
import { hangUpBehaviour } from './hang-up.ts';
import { hangUpRacesBehaviour } from './hang-up-races.ts';
import { lackingAccountsBehaviour } from './lacking-accounts.ts';
import { largeAnswersBehaviour } from './large-answers.ts';
import { limitsBehaviour } from './limits.ts';
import { longReasoningBehaviour } from './long-reasoning.ts';
import { modelListingBehaviour } from './model-listing.ts';
import { modelsBehaviour } from './models.ts';
import { namedCausesBehaviour } from './named-causes.ts';
import { oddAnswersBehaviour } from './odd-answers.ts';
import { officialSdksBehaviour, officialSdksSmoke } from './official-sdks.ts';
import { playgroundBehaviour } from './playground.ts';
import { probedAccountsBehaviour } from './probed-accounts.ts';
import { protocolBehaviour } from './protocol.ts';
import { reconcileBehaviour } from './reconcile.ts';
import { refusedAccountsBehaviour } from './refused-accounts.ts';
import { relayBytesBehaviour } from './relay-bytes.ts';
import { reportedCountsBehaviour } from './reported-counts.ts';
import { requestFaultsBehaviour } from './request-faults.ts';
import { requestIdsBehaviour } from './request-ids.ts';
import { requestTargetsBehaviour } from './request-targets.ts';
import { slowUploadsBehaviour } from './slow-uploads.ts';
import { tokenLabelsBehaviour } from './token-labels.ts';
import { tracesBehaviour } from './traces.ts';
import { unknowingShellBehaviour } from './unknowing-shell.ts';
import { usageBehaviour } from './usage.ts';
import { usagePeriodsBehaviour } from './usage-periods.ts';
import { zeroLimitsBehaviour } from './zero-limits.ts';

/**
 * The behaviour of a gateway in any wiring. Together with `describeContract` it runs completely on
 * the two wirings that differ most: everything in one process, and every service in a process.
 */
export function describeGateway<T extends Topology>(
  name: string,
  start: () => Promise<T>,
  more: (gateway: () => T) => void = () => undefined,
): void {
  describeTopology(name, start, (gateway) => {
    modelsBehaviour(gateway);
    chatCompletionsBehaviour(gateway);
    limitsBehaviour(gateway);
    zeroLimitsBehaviour(gateway);
    usageBehaviour(gateway);
    authHeadersBehaviour(gateway);
    badInputBehaviour(gateway);
    failoverBehaviour(gateway);
    failingAccountBehaviour(gateway);
    namedCausesBehaviour(gateway);
    probedAccountsBehaviour(gateway);
    refusedAccountsBehaviour(gateway);
    lackingAccountsBehaviour(gateway);
    requestFaultsBehaviour(gateway);
    accountListBehaviour(gateway);
    hangUpBehaviour(gateway);
    hangUpRacesBehaviour(gateway);
    usagePeriodsBehaviour(gateway);
    modelListingBehaviour(gateway);
    officialSdksSmoke(gateway);
    relayBytesBehaviour(gateway);
    reportedCountsBehaviour(gateway);
    costsBehaviour(gateway);
    groupsBehaviour(gateway);
    oddAnswersBehaviour(gateway);
    tokenLabelsBehaviour(gateway);
    tracesBehaviour(gateway);
    requestIdsBehaviour(gateway);
    requestTargetsBehaviour(gateway);
    reconcileBehaviour(gateway);
    adminPortBehaviour(gateway);
    playgroundBehaviour(gateway);
    unknowingShellBehaviour(gateway);
    more(gateway);
  });
}

/** The slowest parts of `describeGateway`, on a gateway of their own that runs beside it. */
export function describeContract<T extends Topology>(
  name: string,
  start: () => Promise<T>,
  { compressed, more = () => undefined }: { readonly compressed: boolean; readonly more?: (gateway: () => T) => void },
): void {
  describeTopology(name, start, (gateway) => {
    brokenAnswersBehaviour(gateway);
    largeAnswersBehaviour(gateway);
    longReasoningBehaviour(gateway);
    bodyArrivalBehaviour(gateway, { compressed });
    contractBehaviour(gateway);
    more(gateway);
  });
}

/**
 * Decisions of the edge alone, and the results of official clients: the same code in every wiring.
 */
export function describeClients(name: string, start: () => Promise<Topology>): void {
  describeTopology(name, start, (gateway) => {
    protocolBehaviour(gateway);
    bodySharesBehaviour(gateway);
    slowUploadsBehaviour(gateway);
    officialSdksBehaviour(gateway);
  });
}

/** Enough to check a wiring: answers, streams, limits, usage, failover, hang-ups. */
export function describeSmoke<T extends Topology>(
  name: string,
  start: () => Promise<T>,
  more: (gateway: () => T) => void = () => undefined,
): void {
  describeTopology(name, start, (gateway) => {
    modelsBehaviour(gateway);
    chatCompletionsBehaviour(gateway);
    limitsBehaviour(gateway);
    usageBehaviour(gateway);
    failoverBehaviour(gateway);
    hangUpBehaviour(gateway);
    relayBytesBehaviour(gateway);
    more(gateway);
  });
}
