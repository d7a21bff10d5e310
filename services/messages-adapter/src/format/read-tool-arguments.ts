import { asObject, type JsonObject } from '@gateway/json';

/** Most levels of arrays and objects within each other; deeper ones no provider reads, nor can they be written again. */
const mostLevels = 200;

/**
 * A tool call's arguments as the object that `tool_use.input` must be. Models write broken JSON at times: what is no
 * object, or too deep for one, goes along as the text it is, under a name of its own.
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

/** A long id that a model once wrote must come back to it digit by digit, which a JavaScript number can't promise. */
function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return JSON.rawJSON(source);
}
