import { JsonSkimmer, parseJson } from '@gateway/json';

/** Reads along with a JSON object that is not kept: the small members of its top level, as far as they stand in one read or two. */
export class PassedMessage {
  readonly #skimmer = new JsonSkimmer({ maxDepth: 1_024, maxTokens: Number.POSITIVE_INFINITY });
  readonly #values = new Map<string, unknown>();
  /** The last bytes, and where they begin. */
  #tail: Buffer = Buffer.alloc(0);
  #tailStart = 0;
  #membersRead = 0;

  /** False when the bytes are no JSON. */
  push(bytes: Uint8Array): boolean {
    try {
      this.#skimmer.push(bytes);
    } catch {
      return false;
    }
    const tail = Buffer.concat([this.#tail, bytes]);
    this.#readMembers(tail);
    this.#tail = Buffer.from(tail.subarray(-maxMemberBytes));
    this.#tailStart += tail.length - this.#tail.length;
    return true;
  }

  /** The object has ended. False when it is not whole. */
  end(): boolean {
    try {
      this.#skimmer.end();
    } catch {
      return false;
    }
    return this.#skimmer.topLevelIsObject;
  }

  /** The value of a member that has come; undefined when it has not, or is not small. Of a repeated one the last. */
  value(key: string): unknown {
    return this.#values.get(key);
  }

  #readMembers(bytes: Buffer): void {
    const { members } = this.#skimmer;
    for (; this.#membersRead < members.length; this.#membersRead += 1) {
      const member = members[this.#membersRead];
      if (member === undefined || member.valueEnd - member.keyStart > maxMemberBytes) continue;
      const textOf = (start: number, end: number) =>
        bytes.toString('utf8', start - this.#tailStart, end - this.#tailStart);
      const key = parseJson(textOf(member.keyStart, member.keyEnd));
      this.#values.set(String(key), parseJson(textOf(member.valueStart, member.valueEnd)));
    }
  }
}

const maxMemberBytes = 64 * 1024;
