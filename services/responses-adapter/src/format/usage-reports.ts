import {
  billingOf,
  fitPasses,
  nameIn,
  type ReportedUsage,
  readTokenCount,
  servedWord,
  toolCallsIn,
  toReportedUsage,
  type UsagePass,
} from '@gateway/chat';
import { asArray, asObject, type JsonObject } from '@gateway/json';

/** The usage that the events of one response report, and what else the provider bills. */
export class UsageReports {
  #usage: ReportedUsage | undefined;
  #serviceTier = '';
  #response: JsonObject = {};
  readonly #doneItems: unknown[] = [];

  /** Undefined before the first report. */
  get reported(): ReportedUsage | undefined {
    const pass = imagesPass(this.#response);
    const { passes, isIncomplete } = fitPasses(pass === undefined ? [] : [pass], this.#usage);
    const calls = callsIn(this.#doneItems, this.#response);
    const billing = billingOf({
      ...{ model: '', serviceTier: this.#serviceTier, speed: '', geography: '' },
      ...{ toolCalls: toolCallsIn(calls), passes, isIncomplete },
    });
    return billing === undefined ? this.#usage : { ...(this.#usage ?? nothing), billing };
  }

  /** An item of the output is complete. */
  onItemDone(item: unknown): void {
    if (toolOf(item) !== undefined) this.#doneItems.push(item);
  }

  /** The response as an event has it: at its start it has the tier that was asked for. */
  onResponse(response: JsonObject): void {
    this.#usage = convertUsage(response.usage) ?? this.#usage;
    if (typeof response.service_tier === 'string') {
      this.#serviceTier = servedWord(response.service_tier, ['auto', 'default', 'standard']);
    }
    const { output, tools, tool_usage } = response;
    this.#response = {
      output,
      tools: tools ?? this.#response.tools,
      tool_usage: tool_usage ?? this.#response.tool_usage,
    };
  }
}

/**
 * Converts the provider's `usage`, whose input already includes cached tokens and whose output
 * includes reasoning tokens. Undefined when there is none (`null` until a response has ended, and
 * always on some backends).
 */
export function convertUsage(value: unknown): ReportedUsage | undefined {
  const usage = asObject(value);
  const details = asObject(usage?.input_tokens_details);
  const byLifetime = asObject(details?.cache_write_tokens_details);
  const reported = toReportedUsage({
    inputTokens: readTokenCount(usage?.input_tokens),
    cachedTokens: readTokenCount(details?.cached_tokens),
    outputTokens: readTokenCount(usage?.output_tokens),
    reasoningTokens: readTokenCount(asObject(usage?.output_tokens_details)?.reasoning_tokens),
  });
  const written12h = readTokenCount(byLifetime?.ttl_12h_tokens) ?? 0;
  const written =
    readTokenCount(details?.cache_write_tokens) ?? written12h + (readTokenCount(byLifetime?.ttl_30m_tokens) ?? 0);
  if (reported === undefined || written === 0) return reported;
  return { ...reported, cacheCreationTokens: written, cacheCreation1hTokens: Math.min(written12h, written) };
}

/** Nothing was reported of the answer itself. */
const nothing = { inputTokens: undefined, cachedTokens: 0, outputTokens: undefined, reasoningTokens: 0 };

/**
 * The calls of the provider's tools. Some backends list the items of the output at the end, some
 * only one by one. What \`tool_usage\` says counts more: it knows which searches are billed.
 */
function callsIn(doneItems: readonly unknown[], { output, tool_usage }: JsonObject): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (const items of [doneItems, asArray(output)]) {
    for (const [tool, ofTool] of Map.groupBy(items, toolOf)) {
      if (tool !== undefined) calls.set(tool, Math.max(calls.get(tool) ?? 0, ofTool.length));
    }
  }
  const usage = asObject(tool_usage);
  const searches = readTokenCount(asObject(usage?.web_search)?.num_requests);
  if (searches !== undefined) calls.set('web_search', searches);
  // Images are billed by their tokens where these are known.
  if (imagesPass({ tool_usage }) !== undefined) calls.delete('image_generation');
  return calls;
}

/** The tool of the provider that an item is a call of. */
function toolOf(value: unknown): string | undefined {
  const item = asObject(value);
  if (item?.type === 'web_search_call') return isSearch(item) ? 'web_search' : undefined;
  if (item?.type === 'shell_call') {
    return asObject(item.environment)?.type === 'container_reference' ? 'shell' : undefined;
  }
  return tools.get(item?.type);
}

const tools: ReadonlyMap<unknown, string> = new Map([
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generation'],
]);

/** Opening a page that a search has found is not billed. */
function isSearch({ action }: JsonObject): boolean {
  return (asObject(action)?.type ?? 'search') === 'search';
}

/** The tokens of generated images, which \`usage\` leaves out. They are of another model. */
function imagesPass({ tool_usage, tools: given }: JsonObject): UsagePass | undefined {
  const usage = asObject(asObject(tool_usage)?.image_gen);
  const counts = convertUsage(usage);
  if (counts === undefined) return undefined;
  const tool = asArray(given).find((each) => asObject(each)?.type === 'image_generation');
  const inputTokens = counts.inputTokens ?? 0;
  const cachedTokens = Math.min(readTokenCount(usage?.cached_tokens) ?? counts.cachedTokens, inputTokens);
  return {
    ...{ kind: 'image_gen', model: nameIn(asObject(tool)?.model) || 'image_gen', inputTokens, cachedTokens },
    ...{ cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: counts.outputTokens ?? 0 },
  };
}
