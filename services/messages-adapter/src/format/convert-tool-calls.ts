import { hash } from 'node:crypto';
import { asObject, type JsonObject } from '@gateway/json';

/**
 * Converts a tool call's id to the alphabet and length that the Messages format allows. Valid ids
 * stay as they are; others keep a readable start and get a digest of the whole, so that different
 * ids stay different. The same input always gives the same id.
 */
export function convertToolId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const digest = hash('sha256', id, 'hex').slice(0, 16);
  return `${id.slice(0, 47).replace(/[^a-zA-Z0-9_-]/g, '_')}_${digest}`;
}

/**
 * The ids of one conversation. Calls must have unique ids throughout a Messages conversation, while
 * chat clients may start numbering again in every turn: a repeated id gets a new one, and so does
 * its result.
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
   * The id for a call's result: that of the first call with this id that has no result yet.
   * Undefined when there is no such call.
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
 * The maximum depth of nested arrays and objects; no provider reads deeper ones, and they could not
 * be serialised again.
 */
const mostLevels = 200;

/**
 * Parses a tool call's arguments to the object that `tool_use.input` must be. Models sometimes
 * write malformed JSON: text that is not an object, or is nested too deeply, is sent as a string
 * under a name of its own.
 */
export function readToolArguments(text: string): JsonObject {
  if (text.trim() === '') return {};
  // Checked first, because JavaScript represents a lone number with kept digits as an object.
  const value = /^\s*\{/.test(text) ? parseKeepingDigits(text) : undefined;
  const input = asObject(value);
  return input === undefined || isDeeper(input, mostLevels) ? { _arguments: text } : input;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

// Standard, but not yet in TypeScript's library.
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
 * A long id that a model wrote must return to it digit by digit, which a JavaScript number can't
 * guarantee.
 */
function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return JSON.rawJSON(source);
}
