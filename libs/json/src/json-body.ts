import { isUtf8 } from 'node:buffer';
import { GatewayError } from '@gateway/errors';
import type { JsonMember, JsonSkimmer } from './json-skimmer.ts';

/** A JSON object as bytes, known to be well-formed, with its top-level members found but not parsed. */
export class JsonBody {
  readonly bytes: Buffer;
  readonly #members: ReadonlyMap<string, JsonMember>;

  /** Throws `invalid_json` for text that is not UTF-8, `invalid_request` when the value is not an object. */
  constructor(bytes: Buffer, skimmer: JsonSkimmer) {
    if (!isUtf8(bytes)) throw new GatewayError('invalid_json', 'The body is not valid UTF-8.');
    if (!skimmer.topLevelIsObject) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
    this.bytes = bytes;
    // Of a repeated key the last one counts, as in JSON.parse.
    this.#members = new Map(skimmer.members.map((member) => [keyOf(bytes, member), member]));
  }

  /** Where a top-level member stands. */
  member(key: string): JsonMember | undefined {
    return this.#members.get(key);
  }

  /** A top-level value, parsed. Undefined when absent. For small values only. */
  value(key: string): unknown {
    const member = this.member(key);
    return member === undefined
      ? undefined
      : JSON.parse(this.bytes.toString('utf8', member.valueStart, member.valueEnd));
  }
}

function keyOf(bytes: Buffer, { keyStart, keyEnd }: JsonMember): string {
  const quoted = bytes.toString('utf8', keyStart, keyEnd);
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}
