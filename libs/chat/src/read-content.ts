import { GatewayError } from '@gateway/errors';
import {
  anArray,
  aString,
  fieldPath,
  invalidField,
  type JsonObject,
  objectsOf,
  optionalField,
  quoted,
  requiredField,
} from './json-fields.ts';
import { readImagePart } from './read-image-part.ts';
import type { AssistantPart, TextPart, UserPart } from './request.ts';

/** The texts of a message that takes nothing else. */
export function readText(message: JsonObject, path: string): readonly string[] {
  return required(readParts(message, path, readTextPart), path).map(({ text }) => text);
}

export function readUserParts(message: JsonObject, path: string): readonly UserPart[] {
  return required(readParts<UserPart>(message, path, readUserPart), path);
}

/** Undefined when the message has no content. */
export function readAssistantParts(message: JsonObject, path: string): readonly AssistantPart[] | undefined {
  return readParts<AssistantPart>(message, path, readAssistantPart);
}

type PartReader<Part> = (type: string, part: JsonObject, path: string) => Part;

function readParts<Part>(
  message: JsonObject,
  path: string,
  readPart: PartReader<Part | TextPart>,
): readonly (Part | TextPart)[] | undefined {
  const { content } = message;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  const parts = optionalField(message, 'content', path, aContentArray);
  if (parts === undefined) return undefined;
  return objectsOf(parts, fieldPath(path, 'content'), (part, partPath) =>
    readPart(requiredField(part, 'type', partPath, aString), part, partPath),
  );
}

const aContentArray = { ...anArray, noun: 'a string or an array of content parts' };

function required<Part>(parts: readonly Part[] | undefined, path: string): readonly Part[] {
  if (parts === undefined) throw invalidField(fieldPath(path, 'content'), 'is required');
  return parts;
}

const readUserPart: PartReader<UserPart> = (type, part, path) =>
  type === 'image_url' ? readImagePart(part, path) : readTextPart(type, part, path);

const readAssistantPart: PartReader<AssistantPart> = (type, part, path) =>
  type === 'refusal' ? { type, text: requiredField(part, 'refusal', path, aString) } : readTextPart(type, part, path);

const readTextPart: PartReader<TextPart> = (type, part, path) => {
  if (type === 'text') return { type, text: requiredField(part, 'text', path, aString) };
  throw new GatewayError('unsupported_content', `${path} has the type ${quoted(type)}, which is not supported here`);
};
