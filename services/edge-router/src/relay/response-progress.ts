import { asNumber, asObject, asString, type JsonObject, parseJson } from '@gateway/json';

/** What a client has seen of a Responses stream: an event of ours goes on from it. Undefined: not seen. */
export interface SeenResponse {
  readonly id: string | undefined;
  /** Unix time in seconds. */
  readonly createdAt: number | undefined;
  readonly model: string | undefined;
  readonly lastSequenceNumber: number | undefined;
}

/** Reads along with the bytes of a Responses stream what an event of ours would have to continue. */
export class ResponseProgress {
  #response: JsonObject | undefined;
  #lastSequenceNumber: number | undefined;

  get seen(): SeenResponse {
    return {
      id: asString(this.#response?.id),
      createdAt: asNumber(this.#response?.created_at),
      model: asString(this.#response?.model),
      lastSequenceNumber: this.#lastSequenceNumber,
    };
  }

  /** Takes the next bytes. Adapters relay whole events; one that is large may come in parts. */
  onBytes(bytes: Uint8Array): void {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#response ??= readIdentity(buffer);
    const sequenceNumber = findLastSequenceNumber(buffer);
    if (sequenceNumber === undefined) return;
    this.#lastSequenceNumber = Math.max(sequenceNumber, this.#lastSequenceNumber ?? 0);
  }
}

/** Of the response that the first event is about; empty when that is none, or too large to be read here. */
function readIdentity(bytes: Buffer): JsonObject {
  const text = bytes.toString('utf8', 0, Math.min(bytes.length, maxFirstEventBytes));
  const [event = ''] = text.replace(byteOrderMark, '').split(blankLine, 1);
  const data = event.split(lineEnd).flatMap((line) => dataLine.exec(line)?.[1] ?? []);
  const { id, created_at, model } = asObject(asObject(parseJson(data.join('\n')))?.response) ?? {};
  return { id, created_at, model };
}

/** It repeats the request's instructions and tools: to parse more than this takes too long for what comes of it. */
const maxFirstEventBytes = 1024 * 1024;
const byteOrderMark = /^\ufeff/;
const blankLine = /\r\n\r\n|\n\n|\r\r/;
const lineEnd = /\r\n|\n|\r/;
const dataLine = /^data:? ?(.*)$/;

/** Found in the text, for events are many. Within a JSON string the quotes of the key would have backslashes. */
function findLastSequenceNumber(bytes: Buffer): number | undefined {
  for (let at = bytes.lastIndexOf(sequenceKey); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(sequenceKey, at - 1)) {
    const start = at + sequenceKey.length;
    const digits = memberValue.exec(bytes.toString('latin1', start, start + longestValue))?.[1];
    if (digits !== undefined) return Number(digits);
  }
  return undefined;
}

const sequenceKey = Buffer.from('"sequence_number"');
const memberValue = /^\s*:\s*(\d{1,15})(?!\d)/;
const longestValue = 32;
