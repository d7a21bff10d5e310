import { parseJson } from '@gateway/json';

/** The directives in the last user message. */
export interface Directives {
  readonly toolCalls: readonly ToolDirective[];
  /** How many tokens to reason before anything else, in this order. */
  readonly reasoning: readonly number[];
  /** How many words to say. */
  readonly words: number | undefined;
  /** How many bytes to say, instead of words. */
  readonly bytes: number | undefined;
  /** End the answer early, for this reason. */
  readonly incomplete: 'length' | 'content_filter' | undefined;
  readonly refuse: boolean;
  readonly json: boolean;
  /** How much of the input to report as cached. */
  readonly cachedTokens: number;
  /** How much of the input to report as written to the cache. */
  readonly cacheWriteTokens: number;
  /** What is left of the text without its directives. */
  readonly rest: string;
}

export interface ToolDirective {
  readonly name: string;
  /** The arguments exactly as written; undefined when none were given. */
  readonly argumentsText: string | undefined;
}

const maximumWords = 1_000_000;
const maximumBytes = 256 * 1024 * 1024;

/** Reads `#tool`, `#reason`, `#long`, `#bytes`, `#incomplete`, `#refuse`, `#json`, `#cached`, `#written`; the rest is plain text. */
export function readDirectives(text: string): Directives {
  const { toolCalls, rest } = takeToolDirectives(text);
  const remaining = new DirectiveText(rest);
  const reasoning = remaining.takeAll('reason[ \\t]+(\\d+)');
  const words = remaining.takeNumber('long');
  const bytes = remaining.takeNumber('bytes');
  const isFiltered = remaining.takeAll('incomplete[ \\t]+content_filter').length > 0;
  const isCut = remaining.takeAll('incomplete').length > 0;
  return {
    toolCalls,
    reasoning: reasoning.map(([, digits]) => Number(digits)),
    words: words && Math.min(words, maximumWords),
    bytes: bytes && Math.min(bytes, maximumBytes),
    incomplete: isFiltered ? 'content_filter' : isCut ? 'length' : undefined,
    refuse: remaining.takeAll('refuse').length > 0,
    json: remaining.takeAll('json').length > 0,
    cachedTokens: remaining.takeNumber('cached') ?? 0,
    cacheWriteTokens: remaining.takeNumber('written') ?? 0,
    rest: remaining.text.trim(),
  };
}

/** A text from which directives are taken. */
class DirectiveText {
  text: string;

  constructor(text: string) {
    this.text = text;
  }

  takeAll(pattern: string): readonly RegExpExecArray[] {
    const directive = new RegExp(`(?<!\\S)#${pattern}(?!\\S)`, 'g');
    const found = [...this.text.matchAll(directive)];
    this.text = this.text.replaceAll(directive, '');
    return found;
  }

  /** Of several the first one counts. */
  takeNumber(name: string): number | undefined {
    const [first] = this.takeAll(`${name}[ \\t]+(\\d+)`);
    return first && Number(first[1]);
  }
}

function takeToolDirectives(text: string): { toolCalls: readonly ToolDirective[]; rest: string } {
  const toolCalls: ToolDirective[] = [];
  let rest = '';
  let position = 0;
  for (const match of text.matchAll(/(?<!\S)#tool[ \t]+([\w-]+)[ \t]*/g)) {
    // A directive quoted inside the arguments of the one before it is part of those arguments.
    if (match.index < position) continue;
    rest += text.slice(position, match.index);
    const argumentsStart = match.index + match[0].length;
    const argumentsEnd = endOfJsonObject(text, argumentsStart);
    toolCalls.push({ name: match[1] ?? '', argumentsText: text.slice(argumentsStart, argumentsEnd) || undefined });
    position = argumentsEnd;
  }
  return { toolCalls, rest: rest + text.slice(position) };
}

/** Where the JSON object that starts at `start` ends; `start` itself when there is no whole and valid object. */
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
