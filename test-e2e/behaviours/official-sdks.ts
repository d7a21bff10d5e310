import type { Topology } from '../topologies/topology.ts';
import { anthropicErrorsBehaviour } from './anthropic-errors.ts';
import { anthropicSdkBehaviour } from './anthropic-sdk.ts';
import { anthropicSdkStreamsBehaviour } from './anthropic-sdk-streams.ts';
import { openAiErrorsBehaviour } from './openai-errors.ts';
import { openAiSdkBehaviour } from './openai-sdk.ts';
import { openAiSdkMessagesBehaviour } from './openai-sdk-messages.ts';
import { openAiSdkParsingBehaviour } from './openai-sdk-parsing.ts';
import { openAiSdkStreamsBehaviour } from './openai-sdk-streams.ts';
import { openAiSdkToolsBehaviour } from './openai-sdk-tools.ts';
import { openAiSdkZodBehaviour } from './openai-sdk-zod.ts';
import { sdkRetriesBehaviour } from './sdk-retries.ts';

/** The official clients, unmodified: the gateway keeps what they promise their users. */
export function officialSdksBehaviour(gateway: () => Topology): void {
  openAiSdkBehaviour(gateway);
  openAiSdkStreamsBehaviour(gateway);
  openAiSdkToolsBehaviour(gateway);
  openAiSdkParsingBehaviour(gateway);
  openAiSdkZodBehaviour(gateway);
  openAiSdkMessagesBehaviour(gateway);
  openAiErrorsBehaviour(gateway);
  anthropicSdkBehaviour(gateway);
  anthropicSdkStreamsBehaviour(gateway);
  anthropicErrorsBehaviour(gateway);
  sdkRetriesBehaviour(gateway);
}

/** The most common of their calls. */
export function officialSdksSmoke(gateway: () => Topology): void {
  openAiSdkBehaviour(gateway);
  anthropicSdkBehaviour(gateway);
}
