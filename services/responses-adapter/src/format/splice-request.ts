import {
  asString,
  type BufferList,
  type JsonBody,
  jsonElements,
  type NamedJsonMember,
  readJsonBody,
} from '@gateway/json';

/**
 * The client's body as the provider gets it: `model` is the given one, `stream` is true, `store` is false, and
 * `max_output_tokens` and `client_metadata` are gone, however often and however escaped they were written. All other
 * bytes are the client's. In chunks, none of which is a copy of the client's.
 * @see spec "POST /v1/responses"
 */
export function spliceRequest({ source, namedMembers }: JsonBody, model: string): readonly Buffer[] {
  const fixed = new Map([
    ['model', JSON.stringify(model)],
    ['stream', 'true'],
    ['store', 'false'],
  ]);
  const splice = new Splice(source);
  let keptBefore = false;
  namedMembers.forEach((member, index) => {
    const value = fixed.get(member.key);
    if (removedKeys.has(member.key)) removeMember(splice, namedMembers, index, keptBefore);
    else if (value !== undefined) splice.replace(member.valueStart, member.valueEnd, value);
    keptBefore ||= !removedKeys.has(member.key);
  });
  const present = new Set(namedMembers.map((member) => member.key));
  const added = [...fixed].filter(([key]) => !present.has(key)).map(([key, value]) => `"${key}":${value}`);
  const end = namedMembers.at(-1)?.valueEnd ?? source.indexOf(openBrace, 0) + 1;
  if (added.length > 0) splice.replace(end, end, (keptBefore ? ',' : '') + added.join(','));
  return splice.result();
}

const openBrace = 0x7b;

const removedKeys: ReadonlySet<string> = new Set(['max_output_tokens', 'client_metadata']);

/** Takes a member out with one comma: the one before it, or the one after it when nothing is left before it. */
function removeMember(splice: Splice, members: readonly NamedJsonMember[], index: number, keptBefore: boolean): void {
  const member = members[index];
  if (member === undefined) return;
  const { keyStart, valueEnd } = member;
  if (keptBefore) splice.replace(members[index - 1]?.valueEnd ?? keyStart, valueEnd, '');
  else splice.replace(keyStart, members[index + 1]?.keyStart ?? valueEnd, '');
}

/** Bytes with some ranges replaced. Ranges are given in order and don't overlap. */
class Splice {
  readonly #source: BufferList;
  readonly #chunks: Buffer[] = [];
  #copied = 0;

  constructor(source: BufferList) {
    this.#source = source;
  }

  replace(start: number, end: number, text: string): void {
    this.#chunks.push(...this.#source.views(this.#copied, start), Buffer.from(text));
    this.#copied = end;
  }

  result(): readonly Buffer[] {
    return [...this.#chunks, ...this.#source.views(this.#copied, this.#source.length)];
  }
}

/**
 * The client's body without the reasoning in its `input` that only the account which made it can read; undefined when
 * there is none. Calls and messages lose their ids with it: an id binds an item to the reasoning before it. All other
 * bytes are the client's.
 *
 * A compaction stays: it stands for all that was said before, and a model that has forgotten it would go on as if
 * nothing had been said.
 */
export function withoutEncryptedReasoning(body: JsonBody): Buffer | undefined {
  const input = body.member('input');
  if (input === undefined) return undefined;
  const { bytes } = body;
  const array = bytes.subarray(input.valueStart, input.valueEnd);
  const items = jsonElements(array);
  const kept = items.filter((item) => !isEncryptedReasoning(item));
  if (kept.length === items.length) return undefined;
  return Buffer.concat([
    bytes.subarray(0, input.valueStart),
    inBrackets('[', kept.map(withoutId), ']'),
    bytes.subarray(input.valueEnd),
  ]);
}

function isEncryptedReasoning(item: Buffer): boolean {
  const json = readItem(item);
  return json !== undefined && typeOf(json) === 'reasoning' && json.member('encrypted_content') !== undefined;
}

/** Items whose id the provider does not need. Those of its own tools have no other name. */
const typesBoundById: ReadonlySet<string | undefined> = new Set(['message', 'function_call', 'custom_tool_call']);

function withoutId(item: Buffer): Buffer {
  const json = readItem(item);
  if (json?.member('id') === undefined || !typesBoundById.has(typeOf(json))) return item;
  const kept = json.namedMembers.filter(({ key }) => key !== 'id');
  return inBrackets(
    '{',
    kept.map(({ keyStart, valueEnd }) => item.subarray(keyStart, valueEnd)),
    '}',
  );
}

/** Undefined for what is no object, which the provider refuses anyway. */
function readItem(item: Buffer): JsonBody | undefined {
  return item[0] === openBrace ? readJsonBody(item) : undefined;
}

/** An item without a type is a message. */
function typeOf(json: JsonBody): string | undefined {
  return json.member('type') === undefined ? 'message' : asString(json.value('type'));
}

function inBrackets(open: string, parts: readonly Buffer[], close: string): Buffer {
  const separated = parts.flatMap((part, index) => (index === 0 ? [part] : [comma, part]));
  return Buffer.concat([Buffer.from(open), ...separated, Buffer.from(close)]);
}

const comma = Buffer.from(',');
