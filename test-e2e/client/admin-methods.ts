import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from '@bufbuild/protobuf';

/**
 * Every method of the operators' API, from the contract: new methods are included automatically.
 */
export async function adminMethods(): Promise<readonly DescMethod[]> {
  const file = fileURLToPath(import.meta.resolve('@gateway/proto/admin/v1/operator_service_pb.js'));
  const folder = file.slice(0, file.lastIndexOf('/') + 1);
  const names = readdirSync(folder).filter((name) => name.endsWith('_service_pb.js'));
  const modules: readonly object[] = await Promise.all(names.map((name) => import(`${folder}${name}`)));
  const services = modules.flatMap((module) => Object.values(module)).filter(isService);
  return services.flatMap(({ methods }) => methods);
}

/** "TokenService.IssueToken" */
export function nameOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`;
}

/** The value of fields with texts. If undefined, the field is left out. */
export type TextFor = (field: DescField, path: string) => string | undefined;

/**
 * Requests of a method in JSON, one for each member of a oneof, in which every field has a value.
 */
export function requestsOf({ input }: DescMethod, textFor: TextFor): readonly object[] {
  const choices = Math.max(1, ...choicesIn(input));
  return Array.from({ length: choices }, (_, choice) => messageOf(input, { textFor, choice }, ''));
}

/** The paths of all text fields of a method's request. */
export function textFieldsOf(method: DescMethod): readonly string[] {
  const paths = new Set<string>();
  requestsOf(method, (_, path) => {
    paths.add(path);
    return '';
  });
  return [...paths];
}

interface Filling {
  readonly textFor: TextFor;
  /** The member of every oneof that is set. */
  readonly choice: number;
}

function choicesIn({ oneofs, fields }: DescMessage, depth = 0): readonly number[] {
  if (depth > 4) return [];
  const below = fields.flatMap((field) => (field.message === undefined ? [] : choicesIn(field.message, depth + 1)));
  return [...oneofs.map((choice) => choice.fields.length), ...below];
}

function messageOf({ fields }: DescMessage, filling: Filling, prefix: string): Readonly<Record<string, unknown>> {
  const members = fields.flatMap((field): (readonly [string, unknown])[] => {
    const members = field.oneof?.fields;
    if (members !== undefined && members[filling.choice % members.length] !== field) return [];
    const value = fillingOf(field, filling, `${prefix}${field.localName}`);
    if (value === undefined) return [];
    return [[field.jsonName, field.fieldKind === 'list' ? [value] : value]];
  });
  return Object.fromEntries(members);
}

function fillingOf(field: DescField, filling: Filling, path: string): unknown {
  if (field.message !== undefined) {
    return path.split('.').length > 4 ? undefined : messageOf(field.message, filling, `${path}.`);
  }
  if (field.enum !== undefined) return firstValueOf(field.enum);
  switch (field.scalar) {
    case ScalarType.STRING:
      return filling.textFor(field, path);
    case ScalarType.BOOL:
      return false;
    default:
      if (/(?:[aA]t|[uU]ntil|[sS]ince)Ms$/.test(field.localName)) return timeFor(field);
      // Revisions and filters by number: any value.
      return /revision|status|keepOld/i.test(field.localName) ? 0 : 5;
  }
}

function timeFor({ localName }: DescField): number {
  const dayMs = 86_400_000;
  return Date.now() + (localName === 'sinceMs' ? -dayMs : dayMs);
}

function firstValueOf({ values }: DescEnum): string | undefined {
  return (values[1] ?? values[0])?.name;
}

function isService(value: unknown): value is DescService {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service';
}
