import type { DescMessage, DescService } from '@bufbuild/protobuf';
import { isMessage, type Message } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { GatewayError } from '@gateway/errors';
import type { ServiceRoute } from './service-types.ts';

/** The total length of the texts that one message of an operator may contain. */
export const mostTextBytes = 65_536;

/** A route that refuses messages whose texts exceed `mostTextBytes`, before a handler sees them. */
export function withBoundedTexts<S extends DescService>({ service, handlers }: ServiceRoute<S>): ServiceRoute<S> {
  const bounded = service.methods.map(({ localName, input }) => {
    const handle = handlers[localName];
    if (handle === undefined) throw new TypeError(`no handler serves ${localName}`);
    const checked: typeof handle = (request, context) => {
      const field = isMessage(request, input) ? tooLongField(input, request) : undefined;
      if (field !== undefined) throw new GatewayError('invalid_request', `${field}: ${tooLongText}`);
      return handle(request, context);
    };
    return [localName, checked] as const;
  });
  return { service, handlers: Object.fromEntries(bounded) };
}

export const tooLongText = 'must be shorter: the texts of a request may have 64 KiB together';

/**
 * The field with the longest text if all texts together exceed `mostTextBytes`: "account.name".
 * Undefined if they do not.
 */
export function tooLongField(schema: DescMessage, message: Message): string | undefined {
  let total = 0;
  let longest = { field: '', bytes: -1 };
  for (const { field, text } of textsOf(reflect(schema, message), '')) {
    const bytes = Buffer.byteLength(text);
    total += bytes;
    if (bytes > longest.bytes) longest = { field, bytes };
  }
  return total > mostTextBytes ? longest.field : undefined;
}

interface FieldText {
  readonly field: string;
  readonly text: string;
}

function* textsOf(message: ReflectMessage, prefix: string): Generator<FieldText> {
  for (const each of message.fields) {
    if (!message.isSet(each)) continue;
    const field = `${prefix}${each.localName}`;
    if (each.fieldKind === 'list') for (const value of message.get(each)) yield* textsIn(value, field);
    else if (each.fieldKind === 'map')
      for (const pair of message.get(each)) for (const value of pair) yield* textsIn(value, field);
    else yield* textsIn(message.get(each), field);
  }
}

function* textsIn(value: unknown, field: string): Generator<FieldText> {
  if (typeof value === 'string') yield { field, text: value };
  else if (isReflected(value)) yield* textsOf(value, `${field}.`);
}

function isReflected(value: unknown): value is ReflectMessage {
  return typeof value === 'object' && value !== null && 'fields' in value && 'isSet' in value;
}
