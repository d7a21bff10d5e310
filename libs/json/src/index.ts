export { BufferList } from './buffer-list.ts';
export { JsonBody, jsonElements, type NamedJsonMember, readJsonBody, type ScannedJson } from './json-body.ts';
export { type JsonMember, JsonScanner, type ScannerOptions } from './json-scanner.ts';
export {
  asArray,
  asCount,
  asNumber,
  asObject,
  asString,
  isObject,
  type JsonObject,
  objectsIn,
  parseJson,
  toWellFormedJson,
} from './json-value.ts';
