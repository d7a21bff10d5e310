export type { NamedJsonMember, SkimmedJson } from './json-body.ts';
export { JsonBody, readJsonBody } from './json-body.ts';
export { type JsonRange, jsonElements } from './json-elements.ts';
export type { JsonBounds, JsonMember } from './json-skimmer.ts';
export { JsonSkimmer } from './json-skimmer.ts';
export { asArray, asCount, asNumber, asObject, asString, type JsonObject, parseJson } from './json-value.ts';
export { endOfPlainString, type PlainString, readPlainString } from './plain-string.ts';
export { standsAt } from './stands-at.ts';
export { toWellFormedJson } from './well-formed-json.ts';
