import { parseJson } from '@gateway/json';

export type Directives = ReturnType<typeof readDirectives>;

interface ToolDirective {
  readonly name: string;
  /** The arguments exactly as written; undefined when absent. */
  readonly argumentsText: string | undefined;
}

const maximumWords = 1_000_000;
const maximumBytes = 256 * 1024 * 1024;

/**
 * Reads `#tool`, `#reason`, `#long`, `#bytes`, `#incomplete`, `#refuse`, `#json`, `#cached`,
 * `#written`; the rest is plain text.
 */
export function readDirectives(text: string) {
  const { toolCalls, rest } = takeToolDirectives(text);
  const counts: { readonly name: string; readonly count: number }[] = [];
  const flags = new Set<string>();
  const remaining = rest.replaceAll(directive, (_, name, count, filtered, flag) => {
    if (name !== undefined) counts.push({ name, count: Number(count) });
    else flags.add(filtered === undefined ? flag : 'filtered');
    return '';
  });
  const countsOf = (name: string) => counts.filter((each) => each.name === name).map(({ count }) => count);
  const [words, bytes] = [countsOf('long')[0], countsOf('bytes')[0]];
  const cut = flags.has('incomplete') ? ('length' as const) : undefined;
  return {
    toolCalls,
    /** The tokens of each reasoning part before the rest of the answer, in this order. */
    reasoning: countsOf('reason'),
    /** The number of words in the answer. */
    words: words && Math.min(words, maximumWords),
    /** The number of bytes in the answer, instead of words. */
    bytes: bytes && Math.min(bytes, maximumBytes),
    /** Ends the answer early for this reason. */
    incomplete: flags.has('filtered') ? ('content_filter' as const) : cut,
    refuse: flags.has('refuse'),
    json: flags.has('json'),
    /** How much of the input is reported as read from the cache, and as written to it. */
    cachedTokens: countsOf('cached')[0] ?? 0,
    cacheWriteTokens: countsOf('written')[0] ?? 0,
    /** The text without its directives. */
    rest: remaining.trim(),
  };
}

const directive =
  /(?<!\S)#(?:(reason|long|bytes|cached|written)[ \t]+(\d+)|(incomplete[ \t]+content_filter)|(incomplete|refuse|json))(?!\S)/g;

function takeToolDirectives(text: string): { toolCalls: readonly ToolDirective[]; rest: string } {
  const toolCalls: ToolDirective[] = [];
  let rest = '';
  let position = 0;
  for (const match of text.matchAll(/(?<!\S)#tool[ \t]+([\w-]+)[ \t]*/g)) {
    // A directive quoted inside the arguments of the previous one is part of those arguments.
    if (match.index < position) continue;
    rest += text.slice(position, match.index);
    const argumentsStart = match.index + match[0].length;
    const argumentsEnd = endOfJsonObject(text, argumentsStart);
    toolCalls.push({ name: match[1] ?? '', argumentsText: text.slice(argumentsStart, argumentsEnd) || undefined });
    position = argumentsEnd;
  }
  return { toolCalls, rest: rest + text.slice(position) };
}

/**
 * Where the JSON object that starts at `start` ends; `start` itself when there is no complete,
 * valid object.
 */
function endOfJsonObject(text: string, start: number): number {
  if (text[start] !== '{') return start;
  let depth = 0;
  let quoted = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (quoted && character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === '{') depth++;
    else if (!quoted && character === '}' && --depth === 0) {
      return parseJson(text.slice(start, index + 1)) === undefined ? start : index + 1;
    }
  }
  return start;
}
