import { asObject, asString, type JsonObject } from '@gateway/json';

/** Characters of a content block that the model wrote: its text, its thinking or a tool's arguments. */
export function producedByBlock(value: unknown): number {
  const block = asObject(value);
  if (block === undefined) return 0;
  return producedByDelta(block) + producedByInput(asObject(block.input));
}

/** Characters that a delta brings. Signatures and citations are not the model's words. */
export function producedByDelta(delta: JsonObject): number {
  return (asString(delta.text) ?? asString(delta.thinking) ?? asString(delta.partial_json) ?? '').length;
}

/** In a stream the arguments follow in deltas, and the block begins with none. */
function producedByInput(input: JsonObject | undefined): number {
  return input === undefined || Object.keys(input).length === 0 ? 0 : JSON.stringify(input).length;
}
