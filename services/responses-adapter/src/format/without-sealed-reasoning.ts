import { asString, type JsonBody, jsonElements, readJsonBody } from '@gateway/json';

/**
 * The client's body without the reasoning in its `input` that only the account which made it can read; undefined when
 * there is none. Calls and messages lose their ids with it: an id binds an item to the reasoning before it. All other
 * bytes are the client's.
 *
 * A compaction stays: it stands for all that was said before, and a model that has forgotten it would go on as if
 * nothing had been said.
 */
export function withoutSealedReasoning(body: JsonBody): Buffer | undefined {
  const input = body.member('input');
  if (input === undefined) return undefined;
  const { bytes } = body;
  const array = bytes.subarray(input.valueStart, input.valueEnd);
  const items = jsonElements(array).map(({ start, end }) => array.subarray(start, end));
  const kept = items.filter((item) => !isSealedReasoning(item));
  if (kept.length === items.length) return undefined;
  return Buffer.concat([
    bytes.subarray(0, input.valueStart),
    inBrackets('[', kept.map(withoutId), ']'),
    bytes.subarray(input.valueEnd),
  ]);
}

function isSealedReasoning(item: Buffer): boolean {
  const json = readItem(item);
  return json !== undefined && typeOf(json) === 'reasoning' && json.member('encrypted_content') !== undefined;
}

/** Items whose id the provider does not need. Those of its own tools have no other name. */
const typesBoundById: ReadonlySet<string | undefined> = new Set(['message', 'function_call', 'custom_tool_call']);

function withoutId(item: Buffer): Buffer {
  const json = readItem(item);
  if (json?.member('id') === undefined || !typesBoundById.has(typeOf(json))) return item;
  const kept = json.memberList.filter(({ key }) => key !== 'id');
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
const openBrace = 0x7b;
