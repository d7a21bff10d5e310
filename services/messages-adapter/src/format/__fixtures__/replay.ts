import { readdirSync, readFileSync } from 'node:fs';
import type { AnswerReader, ChatAnswerReader } from '@gateway/adapter-kit';
import { createChatAnswer } from '@gateway/chat';
import { EventReader } from '../event-reader.ts';
import { RelayAnswerReader } from '../relay-answer-reader.ts';

/** Names of all recorded streams. */
export const fixtureNames: readonly string[] = readdirSync(`${import.meta.dirname}/recordings`).map((file) =>
  file.slice(0, -'.sse'.length),
);

/** The bytes of a recorded stream. */
export function readFixture(name: string): Buffer {
  return readFileSync(`${import.meta.dirname}/recordings/${name}.sse`);
}

/** A reader of a new answer. */
export function newReader(stream: boolean): ChatAnswerReader {
  const options = { id: 'request-1', created: 1_700_000_000, model: 'claude-sonnet-4-5', includeUsage: true };
  return new EventReader(createChatAnswer({ ...options, stream }), readerOptions);
}

/** A reader of a new relayed stream. */
export function newRelayReader(): RelayAnswerReader {
  return new RelayAnswerReader(readerOptions.maxEventBytes);
}

export const readerOptions = {
  wantsJson: false,
  nowMs: 1_700_000_000_000,
  maxAnswerBytes: 1_000_000,
  maxEventBytes: 4 * 1024 * 1024,
};

/**
 * Everything that a client and the adapter's caller see of an answer that arrives in these pieces.
 */
export function replay(pieces: readonly Uint8Array[], stream: boolean) {
  const reader = newReader(stream);
  const text = feed(reader, pieces).toString();
  return { text, ...seenOf(reader), unknownEvents: reader.unknownEvents };
}

/** The same for a relayed stream. */
export function replayRelayed(pieces: readonly Uint8Array[]) {
  const reader = newRelayReader();
  const bytes = feed(reader, pieces);
  return { bytes, ...seenOf(reader), answerId: reader.answerId };
}

/** The bytes that a reader returns for the client, taken after each piece. */
export function feed(reader: AnswerReader, pieces: readonly Uint8Array[]): Buffer {
  const client: Uint8Array[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    client.push(reader.take());
  }
  reader.end();
  client.push(reader.take());
  return Buffer.concat(client);
}

function seenOf({ result, hasContent, reportedUsage, producedCharacters }: AnswerReader) {
  return { ending: result, hasContent, reportedUsage, producedCharacters };
}
