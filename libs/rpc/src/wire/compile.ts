import type { DescMessage } from '@bufbuild/protobuf';
import { codingOf } from './scalars.ts';

export interface CodecKind<Codec extends object> {
  /** What stands for a codec while it is being made. */
  readonly pending: () => Codec;
  /** JavaScript that returns the codec of a schema. Codecs of its fields are `child` and codings `coding`, each with the field's number. */
  readonly sourceOf: (schema: DescMessage) => string;
  /** What a source may use besides, by name. */
  readonly scope: Readonly<Record<string, unknown>>;
  readonly isCodec: (value: unknown) => value is Codec;
}

/**
 * One codec for each schema, compiled when it is first asked for: code that names the members of one kind of message runs several
 * times as fast as code that looks them up by names that it is told, as all kinds of messages then share what the engine learns. A
 * source holds nothing but what is made from our own contracts; names in it are quoted.
 */
export function compiledCodecs<Codec extends object>(kind: CodecKind<Codec>): (schema: DescMessage) => Codec {
  const codecs = new WeakMap<DescMessage, Codec>();
  const codecOf = (schema: DescMessage): Codec => {
    const known = codecs.get(schema);
    if (known !== undefined) return known;
    const codec = kind.pending();
    // Before its fields are looked at: a message may hold messages of its own kind.
    codecs.set(schema, codec);
    return Object.assign(codec, compiled(schema, kind, codecOf));
  };
  return codecOf;
}

/** A name or text as a literal. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** What a codec does that is used before it is made. */
export function notCompiled(): never {
  throw new Error('a codec is used while it is being made');
}

function compiled<Codec extends object>(
  schema: DescMessage,
  { sourceOf, scope, isCodec }: CodecKind<Codec>,
  childOf: (schema: DescMessage) => Codec,
): Codec {
  const names = new Map(Object.entries(scope));
  for (const field of schema.fields) {
    if (field.message !== undefined) names.set(`child${field.number}`, childOf(field.message));
    else names.set(`coding${field.number}`, codingOf(field));
  }
  const make = new Function(...names.keys(), `'use strict';\n${sourceOf(schema)}`);
  const codec: unknown = make(...names.values());
  if (!isCodec(codec)) throw new Error(`the source for ${schema.typeName} makes no codec`);
  return codec;
}
