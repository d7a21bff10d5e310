import type { UsagePart } from '@gateway/proto/adapter/v1/adapter_service_pb.js';

/**
 * How a part was served, or what a price is for: "priority, fast, us". Empty: by the provider's
 * default.
 */
export function servedText({
  serviceTier,
  speed,
  geography,
}: Pick<UsagePart, 'serviceTier' | 'speed' | 'geography'>): string {
  return [serviceTier, speed, geography].filter((word) => word !== '').join(', ');
}

/**
 * What each part of a request was and cost: "compaction by claude-x (fast): 180,000 in, 3,500 out,
 * 0.91".
 */
export function partTexts(
  parts: readonly UsagePart[],
  { count, money }: { readonly count: (tokens: number) => string; readonly money: (micros: number) => string },
): readonly string[] {
  const costText = (micros: number | undefined) => (micros === undefined ? 'no price' : money(micros));
  return parts.flatMap((part) => {
    const { kind, model, inputTokens, outputTokens, toolCalls, costMicros } = part;
    const served = servedText(part);
    const name = `${kind || 'answer'}${model && ` by ${model}`}${served && ` (${served})`}`;
    return [
      `${name}: ${count(inputTokens)} in, ${count(outputTokens)} out, ${costText(costMicros)}`,
      ...toolCalls.map((call) => `${call.tool}: ${count(call.calls)} calls, ${costText(call.costMicros)}`),
    ];
  });
}
