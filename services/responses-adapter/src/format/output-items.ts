import { asCount, asObject, type JsonBody, type JsonObject, readJsonBody } from '@gateway/json';

/** The finished items of a response, as bytes. */
export class OutputItems {
  readonly #items = new Map<string, Item>();
  #size = 0;
  #highestIndex = -1;

  /**
   * Takes a `response.output_item.done`: its data, raw and parsed. An item without an index comes
   * after the previous ones. Some backends give several items one index: their ids distinguish
   * them.
   */
  add(data: string, { output_index, item }: JsonObject): void {
    const json = readObject(Buffer.from(data));
    const member = json?.member('item');
    if (json === undefined || member === undefined || this.#isTooLarge) return;
    const index = asCount(output_index) ?? this.#highestIndex + 1;
    const { id = '', call_id: callId = '' } = asObject(item) ?? {};
    this.#highestIndex = Math.max(this.#highestIndex, index);
    this.#size += member.valueEnd - member.valueStart;
    if (this.#isTooLarge) return this.#items.clear();
    const bytes = onOneLine(json.bytes.subarray(member.valueStart, member.valueEnd));
    this.#items.set(JSON.stringify([index, id, callId]), { index, bytes });
  }

  /** The bytes of an event that ends a response without output, with these items as its output. */
  fillInto(event: Buffer): Buffer {
    const output = this.#items.size === 0 ? undefined : findEmptyOutput(dataInPlace(event));
    if (output === undefined) return event;
    return Buffer.concat([event.subarray(0, output.start), this.#toArray(), event.subarray(output.end)]);
  }

  #toArray(): Buffer {
    const inOrder = [...this.#items.values()].toSorted((a, b) => a.index - b.index);
    const parts = inOrder.flatMap(({ bytes }, position) => [position === 0 ? '[' : ',', bytes]);
    return Buffer.concat([...parts, ']'].map((part) => Buffer.from(part)));
  }

  /** Some of the items would be worse than none: a client would treat them as complete. */
  get #isTooLarge(): boolean {
    return this.#size > maxKeptBytes;
  }
}

interface Item {
  readonly index: number;
  readonly bytes: Buffer;
}

/** Images are items too. */
const maxKeptBytes = 16 * 1024 * 1024;

/**
 * The data of an event at its own offsets within the event. Everything else becomes spaces, which a
 * JSON parser skips: data may have several lines.
 */
function dataInPlace(event: Buffer): Buffer {
  const text = event.toString('latin1').replace(/^(data(?=:|$):? ?)?(.*)$/gm, (line, field?: string) => {
    return field === undefined ? ' '.repeat(line.length) : ' '.repeat(field.length) + line.slice(field.length);
  });
  return Buffer.from(text, 'latin1');
}

/** The range of an empty `response.output` in an event's data: `[]` or `null`. */
function findEmptyOutput(data: Buffer): { readonly start: number; readonly end: number } | undefined {
  const response = readObject(data)?.member('response');
  if (response === undefined) return undefined;
  const output = readObject(data.subarray(response.valueStart, response.valueEnd))?.member('output');
  if (output === undefined) return undefined;
  const start = response.valueStart + output.valueStart;
  const end = response.valueStart + output.valueEnd;
  return data[start] === openBracket || data[start] === letterN ? { start, end } : undefined;
}

const openBracket = 0x5b;
const letterN = 0x6e;

/**
 * Undefined when the bytes are not a JSON object. The limits of the stream bound its size and
 * depth.
 */
function readObject(bytes: Buffer): JsonBody | undefined {
  try {
    return readJsonBody(bytes, [], { maxDepth: 1_024, maxTokens: Number.POSITIVE_INFINITY });
  } catch {
    return undefined;
  }
}

/**
 * A copy without line feeds, which occur only between the tokens of a JSON text, never within one.
 */
function onOneLine(json: Buffer): Buffer {
  const copy = Buffer.from(json);
  for (let at = copy.indexOf(0x0a); at >= 0; at = copy.indexOf(0x0a, at + 1)) copy[at] = 0x20;
  return copy;
}
