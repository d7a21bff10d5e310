import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReportedUsage } from '@gateway/chat';
import { type GatewayErrorCode, gatewayErrorCodes } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { z } from 'zod';
import type { AnswerCase } from './golden-answer.ts';
import type { RequestCase } from './golden-request.ts';

/**
 * The answer cases of a folder. Each `<topic>.json` there lists the cases of one topic: what a
 * client gets of `<topic>/<stream>.sse`, the bytes of the provider.
 */
export function readAnswerCases(folder: string): readonly AnswerCase[] {
  return casesIn(folder, answerCase).map(({ topic, stream, usage, ...answer }) => ({
    ...answer,
    stream: readFileSync(join(folder, topic, `${stream}.sse`)),
    ...(usage !== undefined && { usage: usageOf(usage) }),
  }));
}

/** The request cases of a folder. Each `<topic>.json` there lists the cases of one topic. */
export function readRequestCases(folder: string): readonly RequestCase[] {
  return casesIn(folder, requestCase).map(({ topic: _, ...request }) => request);
}

/** A file can't say that a count is undefined. */
const notReported = { inputTokens: undefined, outputTokens: undefined } satisfies Partial<ReportedUsage>;

const delta = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['text', 'refusal']), text: z.string() }),
  z.strictObject({ kind: z.literal('call'), index: z.int(), id: z.string(), name: z.string() }),
  z.strictObject({ kind: z.literal('arguments'), index: z.int(), text: z.string() }),
]);

const failure = z.strictObject({
  failed: z.custom<keyof typeof AttemptResult>((name) => Object.hasOwn(AttemptResult, String(name))),
  code: z.custom<GatewayErrorCode>((code) => gatewayErrorCodes.some((known) => known === code)),
  retryAtMs: z.number().optional(),
  modelScoped: z.boolean().optional(),
});

const count = z.int().optional();

const answerCase = z.strictObject({
  name: z.string(),
  /** The name of its file, without `.sse`. */
  stream: z.string(),
  wantsJson: z.literal(true).optional(),
  everySplit: z.literal(true).optional(),
  deltas: z.array(delta),
  ending: z.union([z.enum(['stop', 'length', 'tool_calls', 'content_filter']), failure]),
  usage: z
    .strictObject({
      inputTokens: count,
      outputTokens: count,
      cachedTokens: z.int(),
      reasoningTokens: z.int(),
      cacheCreationTokens: count,
      /** The provider's tools that were called, each once. */
      toolCalls: z.array(z.string()).optional(),
    })
    .optional(),
  unknownEvents: count,
});

const requestCase = z.strictObject({
  name: z.string(),
  request: z.record(z.string(), z.unknown()),
  model: z.string().optional(),
  defaultEffort: z.string().optional(),
  affinityKey: z.string().optional(),
  becomes: z.union([
    z.strictObject({ refused: z.enum(['invalid_request', 'unsupported_content']), field: z.string() }),
    z.record(z.string(), z.unknown()),
  ]),
});

function usageOf({ toolCalls = [], ...counts }: NonNullable<z.output<typeof answerCase>['usage']>): ReportedUsage {
  const calls = toolCalls.map((tool) => ({ tool, calls: 1 }));
  const served = { model: '', serviceTier: '', speed: '', geography: '' };
  const billing = { ...served, toolCalls: calls, passes: [], isIncomplete: false };
  return { ...notReported, ...counts, ...(calls.length > 0 && { billing }) };
}

/** What a folder's files list, with the topic that a file is named by. */
function casesIn<Case extends object>(folder: string, schema: z.ZodType<Case>) {
  const files = globSync('*.json', { cwd: folder }).toSorted();
  return files.flatMap((file) => {
    const cases = z.array(schema).parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    return cases.map((each) => ({ ...each, topic: file.slice(0, -'.json'.length) }));
  });
}
