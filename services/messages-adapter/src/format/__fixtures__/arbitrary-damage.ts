import { asObject, parseJson } from '@gateway/json';
import fc from 'fast-check';
import { arbitraryStream } from './arbitrary-events.ts';

/** The frames of a damaged stream, and whether it marks the end of the message. */
export interface DamagedStream {
  readonly bytes: Buffer;
  readonly hasEnd: boolean;
}

/** A stream whose events are dropped, repeated, moved or changed. */
export const damagedStream: fc.Arbitrary<DamagedStream> = fc
  .tuple(arbitraryStream, fc.array(fc.tuple(arbitraryDamage(), fc.nat(), fc.nat()), { minLength: 1, maxLength: 6 }))
  .map(([{ frames }, damages]) => {
    const damaged = damages.reduce<readonly string[]>((left, [damage, at, to]) => damage(left, at, to), frames);
    return { bytes: Buffer.from(damaged.join('')), hasEnd: damaged.some(isEnd) };
  });

/** A stream with some bytes changed or lost. */
export const corruptedStream: fc.Arbitrary<Buffer> = fc
  .tuple(arbitraryStream, fc.array(fc.tuple(fc.nat(), fc.option(fc.nat(255))), { minLength: 1, maxLength: 8 }))
  .map(([{ frames }, changes]) => {
    const bytes = [...Buffer.from(frames.join(''))];
    for (const [place, byte] of changes) bytes.splice(place % bytes.length, 1, ...(byte === null ? [] : [byte]));
    return Buffer.from(bytes);
  });

/** Splits bytes into pieces of these sizes; the last piece takes the rest. */
export function inPiecesOf(sizes: readonly number[], bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let begin = 0;
  for (const size of sizes) {
    pieces.push(bytes.subarray(begin, begin + size));
    begin += size;
  }
  return [...pieces, bytes.subarray(begin)];
}

type Damage = (frames: readonly string[], at: number, to: number) => readonly string[];

function arbitraryDamage(): fc.Arbitrary<Damage> {
  const member = fc.constantFrom('type', 'index', 'delta', 'content_block', 'message', 'usage', 'error', 'text', 'id');
  const changed = fc.tuple(member, fc.jsonValue());
  return fc.oneof(
    fc.constantFrom<Damage>(dropped, repeated, moved, halved),
    changed.map(
      ([name, value]): Damage =>
        (frames, at) =>
          spliced(frames, at, withMember(atPlace(frames, at), name, value)),
    ),
  );
}

function dropped(frames: readonly string[], at: number): readonly string[] {
  return frames.length === 0 ? frames : frames.toSpliced(at % frames.length, 1);
}

function repeated(frames: readonly string[], at: number, to: number): readonly string[] {
  return frames.toSpliced(to % (frames.length + 1), 0, atPlace(frames, at));
}

function moved(frames: readonly string[], at: number, to: number): readonly string[] {
  return dropped(repeated(frames, at, to), at);
}

function halved(frames: readonly string[], at: number): readonly string[] {
  const frame = atPlace(frames, at);
  return spliced(frames, at, `${frame.slice(0, frame.length / 2)}\n\n`);
}

function spliced(frames: readonly string[], at: number, frame: string): readonly string[] {
  return frames.length === 0 ? [frame] : frames.with(at % frames.length, frame);
}

function atPlace(frames: readonly string[], at: number): string {
  return frames[at % frames.length] ?? '';
}

/** The event with this member changed, at the top level and one level below if it exists there. */
function withMember(frame: string, name: string, value: unknown): string {
  const [, head = '', json = ''] = /^(event: \w+\ndata: )(.*)\n\n$/.exec(frame) ?? [];
  const event = asObject(parseJson(json));
  if (event === undefined) return frame;
  const deeper = Object.fromEntries(
    Object.entries(event).map(([key, member]) => [
      key,
      hasMember(member, name) ? { ...member, [name]: value } : member,
    ]),
  );
  return `${head}${JSON.stringify(name in event ? { ...event, [name]: value } : deeper)}\n\n`;
}

function hasMember(value: unknown, name: string): value is object {
  return typeof value === 'object' && value !== null && name in value;
}

/** Whether a reader may treat the frame as the end of a message. */
function isEnd(frame: string): boolean {
  return /^event: message_stop$/m.test(frame) || /"type":\s*"message_stop"/.test(frame);
}
