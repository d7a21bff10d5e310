import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TokenUsage } from '@gateway/chat';
import type { UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerReader } from '../provider-format.ts';
import { estimateOutputTokens } from './estimate-tokens.ts';

export interface UsageReport extends TokenUsage {
  readonly estimated: boolean;
}

type Produced = Pick<AnswerReader, 'reportedUsage' | 'producedCharacters'>;

/** The usage of an answer that has ended well: the provider's word, or an estimate when it gave none. */
export function finalUsage(answer: Produced, inputEstimate: number): UsageReport {
  const { reportedUsage } = answer;
  return reportedUsage === undefined ? usageSoFar(answer, inputEstimate) : { ...reportedUsage, estimated: false };
}

/** The usage of an answer that is not done. Providers report output at the end: until then it is at least what was seen. */
export function usageSoFar({ reportedUsage, producedCharacters }: Produced, inputEstimate: number): UsageReport {
  const outputEstimate = estimateOutputTokens(producedCharacters);
  if (reportedUsage === undefined) {
    return {
      inputTokens: inputEstimate,
      cachedTokens: 0,
      outputTokens: outputEstimate,
      reasoningTokens: 0,
      estimated: true,
    };
  }
  return reportedUsage.outputTokens >= outputEstimate
    ? { ...reportedUsage, estimated: false }
    : { ...reportedUsage, outputTokens: outputEstimate, estimated: true };
}

export function toUsageMessage(usage: UsageReport): MessageInitShape<typeof UsageSchema> {
  return {
    inputTokens: BigInt(usage.inputTokens),
    cachedTokens: BigInt(usage.cachedTokens),
    outputTokens: BigInt(usage.outputTokens),
    reasoningTokens: BigInt(usage.reasoningTokens),
    estimated: usage.estimated,
  };
}
