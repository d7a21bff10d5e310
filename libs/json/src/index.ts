export { JsonBody } from './json-body.ts';
export type { JsonBounds, JsonMember } from './json-skimmer.ts';
export { JsonSkimmer } from './json-skimmer.ts';
