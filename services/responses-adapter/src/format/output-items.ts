import { asCount, type JsonBody, readJsonBody } from '@gateway/json';

/** The finished items of a response, as bytes. */
export class OutputItems {
  readonly #items = new Map<number, Buffer>();
  #size = 0;
  #highestIndex = -1;

  /** Takes the data of a `response.output_item.done`. One without an index comes after those before it. */
  add(data: string): void {
    const json = readObject(Buffer.from(data));
    const item = json?.member('item');
    if (json === undefined || item === undefined || this.#isTooLarge) return;
    const index = asCount(json.value('output_index')) ?? this.#highestIndex + 1;
    this.#highestIndex = Math.max(this.#highestIndex, index);
    this.#size += item.valueEnd - item.valueStart;
    if (this.#isTooLarge) this.#items.clear();
    else this.#items.set(index, onOneLine(json.bytes.subarray(item.valueStart, item.valueEnd)));
  }

  /** The bytes of an event that ends a response without output, with these items as its output. */
  fillInto(event: Buffer): Buffer {
    const output = this.#items.size === 0 ? undefined : findEmptyOutput(dataInPlace(event));
    if (output === undefined) return event;
    return Buffer.concat([event.subarray(0, output.start), this.#toArray(), event.subarray(output.end)]);
  }

  #toArray(): Buffer {
    const inOrder = [...this.#items].sort(([a], [b]) => a - b);
    const parts = inOrder.flatMap(([, item], position) => [position === 0 ? '[' : ',', item]);
    return Buffer.concat([...parts, ']'].map((part) => Buffer.from(part)));
  }

  /** Some of the items are worse than none: a client would take them for all. */
  get #isTooLarge(): boolean {
    return this.#size > maxKeptBytes;
  }
}

/** Images are items too. */
const maxKeptBytes = 16 * 1024 * 1024;

/**
 * The data of an event at its own offsets within the event. Everything else is spaces, which are skipped between the tokens of
 * a JSON text: data may have several lines.
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

/** Undefined when the bytes are no JSON object. Size and depth are bounded by what the stream may hold. */
function readObject(bytes: Buffer): JsonBody | undefined {
  try {
    return readJsonBody(bytes, [], { maxDepth: 1_024, maxTokens: Number.POSITIVE_INFINITY });
  } catch {
    return undefined;
  }
}

/** A copy without line ends, which are between the tokens of a JSON text only, never within one. */
function onOneLine(json: Buffer): Buffer {
  const copy = Buffer.from(json);
  for (let at = copy.indexOf(0x0a); at >= 0; at = copy.indexOf(0x0a, at + 1)) copy[at] = 0x20;
  return copy;
}
