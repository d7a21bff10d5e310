import type { Topology } from '../topologies/topology.ts';
import { anthropicErrorsBehaviour } from './anthropic-errors.ts';
import { anthropicSdkBehaviour } from './anthropic-sdk.ts';
import { openAiErrorsBehaviour } from './openai-errors.ts';
import { openAiSdkBehaviour } from './openai-sdk.ts';
import { sdkRetriesBehaviour } from './sdk-retries.ts';

/** The official clients, unmodified: what they promise their users holds on the gateway too. */
export function officialSdksBehaviour(gateway: () => Topology): void {
  openAiSdkBehaviour(gateway);
  openAiErrorsBehaviour(gateway);
  anthropicSdkBehaviour(gateway);
  anthropicErrorsBehaviour(gateway);
  sdkRetriesBehaviour(gateway);
}
