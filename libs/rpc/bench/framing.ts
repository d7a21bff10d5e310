import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { FrameBatch, framesOf } from '../src/multiplex/frame-batch.ts';
import { readFrames } from '../src/multiplex/frames.ts';

/**
 * What framing costs: a batch written and read, by hand inside one field of bytes, and as repeated messages of
 * protobuf. `node libs/rpc/bench/framing.ts`.
 */
const payload = Buffer.alloc(300, 'p');

const schemas = load();

for (const frames of [1, 4, 16, 100]) {
  for (const [name, work] of [
    ['by hand', () => byHand(frames)],
    ['protobuf', () => asMessages(frames)],
  ] as const) {
    const rounds = 400_000 / frames;
    for (let round = 0; round < rounds / 4; round++) work();
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round++) work();
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(`${((user + system) / 400_000).toFixed(3)} µs per frame, ${frames} to a batch, ${name}\n`);
  }
}

function byHand(count: number): number {
  const batch = new FrameBatch(0);
  for (let id = 1; id <= count; id++) batch.add(0x33, id, payload);
  let read = 0;
  const onFrame = (_head: number, _id: number, bytes: Buffer) => {
    read += bytes.length;
  };
  const { bytes, start } = batch.toMessage();
  readFrames(framesOf(bytes.subarray(start)) ?? Buffer.alloc(0), { onFrame });
  return read;
}

function asMessages(count: number): number {
  const frames = Array.from({ length: count }, (_, id) =>
    create(schemas.frame, { kind: 0x33, callId: id + 1, payload }),
  );
  const bytes = toBinary(schemas.batch, create(schemas.batch, { frames }));
  const read = fromBinary(schemas.batch, bytes);
  return read.$typeName.length;
}

function load() {
  const scalar = (name: string, number: number, type: number) => ({ name, number, type, label: 1 });
  const file = create(FileDescriptorProtoSchema, {
    name: 'framing.proto',
    package: 'framing',
    syntax: 'proto3',
    messageType: [
      { name: 'Frame', field: [scalar('kind', 1, 13), scalar('call_id', 2, 13), scalar('payload', 3, 12)] },
      { name: 'Batch', field: [{ name: 'frames', number: 1, type: 11, label: 3, typeName: '.framing.Frame' }] },
    ],
  });
  const registry = createFileRegistry(file, () => undefined);
  const [frame, batch] = [registry.getMessage('framing.Frame'), registry.getMessage('framing.Batch')];
  if (frame === undefined || batch === undefined) throw new Error('the schemas are incomplete');
  return { frame, batch };
}
