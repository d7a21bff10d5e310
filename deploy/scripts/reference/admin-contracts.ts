import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createFileRegistry, type DescEnum, type DescMessage, type DescService, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

export interface AdminContracts {
  readonly services: readonly DescService[];
  /**
   * The messages inside requests and answers, and the details of errors, each once; not the
   * requests and answers themselves.
   */
  readonly types: readonly (DescMessage | DescEnum)[];
}

/** The contracts of the admin API with their comments, which generated code does not have. */
export async function readAdminContracts(proto: string): Promise<AdminContracts> {
  const buf = join(proto, '../node_modules/.bin/buf');
  const { stdout } = await promisify(execFile)(
    buf,
    ['build', '--path', 'gateway/admin/v1', '--as-file-descriptor-set', '--output', '-#format=binpb'],
    { cwd: proto, encoding: 'buffer', maxBuffer: 64 * 1_024 * 1_024, timeout: 60_000 },
  );
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
  const ofAdmin = [...registry.files].filter((file) => file.proto.package === 'gateway.admin.v1');
  const services = ofAdmin.flatMap((file) => file.services).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const detail = registry.getMessage('gateway.admin.v1.InvalidFields');
  return { services, types: typesOf(services, detail === undefined ? [] : [detail]) };
}

function typesOf(services: readonly DescService[], details: readonly DescMessage[]): AdminContracts['types'] {
  const ends = services.flatMap(({ methods }) => methods.flatMap(({ input, output }) => [input, output]));
  const found = new Map<string, DescMessage | DescEnum>(details.map((detail) => [detail.typeName, detail]));
  const visit = (message: DescMessage) => {
    for (const field of message.fields) {
      for (const type of [field.message, field.enum]) {
        if (type === undefined || found.has(type.typeName) || !type.typeName.startsWith('gateway.')) continue;
        found.set(type.typeName, type);
        if (type.kind === 'message') visit(type);
      }
    }
  };
  for (const message of [...ends, ...details]) visit(message);
  return [...found.values()].toSorted((one, other) => (one.typeName < other.typeName ? -1 : 1));
}
