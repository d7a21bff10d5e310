import { hash } from 'node:crypto';
import { asObject, type JsonObject } from '@gateway/json';

/**
 * A tool call's id in the alphabet and length that the Messages format takes. Ids that fit stay as
 * they are; others keep a readable beginning and get a digest of the whole, so that two ids never
 * become one. Same id in, same id out.
 */
export function convertToolId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const digest = hash('sha256', id, 'hex').slice(0, 16);
  return `${id.slice(0, 47).replace(/[^a-zA-Z0-9_-]/g, '_')}_${digest}`;
}

/**
 * The ids of one conversation. Calls must have ids of their own throughout a Messages conversation,
 * while chat clients may number them from the start in every turn: an id that returns gets a new
 * one, and so does its result.
 */
export class ConversationToolIds {
  readonly #taken = new Set<string>();
  readonly #callsOf = new Map<string, Calls>();
  #unanswered = 0;

  /** The id for a call. */
  call(clientId: string): string {
    const calls = this.#callsOf.getOrInsertComputed(clientId, () => ({ ids: [], answered: 0 }));
    const id = this.#unusedId(clientId, calls.ids.length);
    this.#taken.add(id);
    calls.ids.push(id);
    this.#unanswered += 1;
    return id;
  }

  /**
   * The id for a call's result: that of the first call with this id that has none. Undefined when
   * there is no such call.
   */
  result(clientId: string): string | undefined {
    const calls = this.#callsOf.get(clientId);
    const id = calls?.ids[calls.answered];
    if (calls === undefined || id === undefined) return undefined;
    calls.answered += 1;
    this.#unanswered -= 1;
    return id;
  }

  get hasUnanswered(): boolean {
    return this.#unanswered > 0;
  }

  #unusedId(clientId: string, usesBefore: number): string {
    let uses = usesBefore;
    let id = uses === 0 ? convertToolId(clientId) : convertToolId(`${clientId}#${uses}`);
    while (this.#taken.has(id)) id = convertToolId(`${clientId}#${++uses}`);
    return id;
  }
}

interface Calls {
  /** Provider ids in the order of the calls. */
  readonly ids: string[];
  answered: number;
}

/**
 * Most levels of arrays and objects within each other; deeper ones no provider reads, nor can they
 * be written again.
 */
const mostLevels = 200;

/**
 * A tool call's arguments as the object that `tool_use.input` must be. Models write broken JSON at
 * times: what is no object, or too deep for one, goes along as the text it is, under a name of its
 * own.
 */
export function readToolArguments(text: string): JsonObject {
  if (text.trim() === '') return {};
  // Looked at first: a lone number whose digits are kept is an object to JavaScript.
  const value = /^\s*\{/.test(text) ? parseKeepingDigits(text) : undefined;
  const input = asObject(value);
  return input === undefined || isDeeper(input, mostLevels) ? { _arguments: text } : input;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

// Standard, but not in the compiler's library yet.
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): unknown;
  }
}

function parseKeepingDigits(text: string): unknown {
  try {
    return mayHoldInexactNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const mayHoldInexactNumber = /\d{16}|\d[eE.]|-0/;

/**
 * A long id that a model once wrote must come back to it digit by digit, which a JavaScript number
 * can't promise.
 */
function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return JSON.rawJSON(source);
}
