/** The directives in the last user message. */
export interface Directives {
  readonly toolCalls: readonly ToolDirective[];
  /** What to reason before anything else, in this order. */
  readonly reasoning: readonly ReasoningDirective[];
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

export interface ReasoningDirective {
  readonly tokens: number;
  /** Whether even its text, where there would be one, is encrypted. */
  readonly redacted: boolean;
}

const maximumWords = 1_000_000;
const maximumBytes = 256 * 1024 * 1024;

/** Reads `#tool`, `#reason`, `#redacted`, `#long`, `#bytes`, `#incomplete`, `#refuse`, `#json`, `#cached`, `#written`; the rest is plain text. */
export function readDirectives(text: string): Directives {
  const { toolCalls, rest } = takeToolDirectives(text);
  const remaining = new DirectiveText(rest);
  const reasoning = remaining.takeReasoning();
  const words = remaining.takeNumber('long');
  const bytes = remaining.takeNumber('bytes');
  const cachedTokens = remaining.takeNumber('cached') ?? 0;
  const cacheWriteTokens = remaining.takeNumber('written') ?? 0;
  const incomplete = remaining.takeIncomplete();
  const refuse = remaining.takeFlag('refuse');
  const json = remaining.takeFlag('json');
  return {
    toolCalls,
    reasoning,
    words: words === undefined ? undefined : Math.min(words, maximumWords),
    bytes: bytes === undefined ? undefined : Math.min(bytes, maximumBytes),
    incomplete,
    refuse,
    json,
    cachedTokens,
    cacheWriteTokens,
    rest: remaining.text,
  };
}

class DirectiveText {
  #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text.trim();
  }

  takeReasoning(): readonly ReasoningDirective[] {
    const pattern = /(?<!\S)#(reason|redacted)[ \t]+(\d+)(?!\S)/g;
    const found = [...this.#text.matchAll(pattern)];
    this.#text = this.#text.replaceAll(pattern, '');
    return found.map(([, name, digits]) => ({ tokens: Number(digits), redacted: name === 'redacted' }));
  }

  takeNumber(name: string): number | undefined {
    const digits = this.#take(new RegExp(`(?<!\\S)#${name}[ \\t]+(\\d+)(?!\\S)`));
    return digits === undefined ? undefined : Number(digits);
  }

  takeFlag(name: string): boolean {
    return this.#take(new RegExp(`(?<!\\S)#${name}(?!\\S)`)) !== undefined;
  }

  takeIncomplete(): 'length' | 'content_filter' | undefined {
    if (this.#take(/(?<!\S)#incomplete[ \t]+content_filter(?!\S)/) !== undefined) return 'content_filter';
    return this.takeFlag('incomplete') ? 'length' : undefined;
  }

  /** The first group of the first match, or an empty text when the pattern has none. */
  #take(pattern: RegExp): string | undefined {
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#text = this.#text.slice(0, match.index) + this.#text.slice(match.index + match[0].length);
    return match[1] ?? '';
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
      return isJson(text.slice(start, index + 1)) ? index + 1 : start;
    }
  }
  return start;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
