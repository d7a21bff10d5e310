import {
  aNonEmptyString,
  anObject,
  fieldPath,
  invalidField,
  type JsonObject,
  oneOf,
  optionalField,
  requiredField,
} from './json-fields.ts';
import type { ImagePart } from './request.ts';

/** An `image_url` part. The URL is usually in an object; some clients send it as it is. */
export function readImagePart(part: JsonObject, path: string): ImagePart {
  const imagePath = fieldPath(path, 'image_url');
  if (typeof part.image_url === 'string') return toImagePart(part.image_url, undefined, imagePath);
  const image = requiredField(part, 'image_url', path, anObject);
  const url = requiredField(image, 'url', imagePath, aNonEmptyString);
  return toImagePart(url, optionalField(image, 'detail', imagePath, aDetail), fieldPath(imagePath, 'url'));
}

const aDetail = oneOf(['auto', 'low', 'high', 'original']);

function toImagePart(url: string, detail: ImagePart['detail'], path: string): ImagePart {
  if (!/^(?:https?:\/\/.|data:.)/i.test(url)) throw invalidField(path, 'must be an http, https or data URL');
  return { type: 'image', url, detail };
}
