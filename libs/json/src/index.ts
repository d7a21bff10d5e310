export { PiecedBytes } from './buffer-list.ts';
export { JsonBody, type NamedJsonMember, readJsonBody, type SkimmedJson } from './json-body.ts';
export { type JsonRange, jsonElements } from './json-elements.ts';
export { type JsonMember, JsonSkimmer, type SkimmerOptions } from './json-scanner.ts';
export {
  asArray,
  asCount,
  asNumber,
  asObject,
  asString,
  isObject,
  type JsonObject,
  parseJson,
  toWellFormedJson,
} from './json-value.ts';
