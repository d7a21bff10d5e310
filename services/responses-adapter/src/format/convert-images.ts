import type { ImagePart } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import type { InputImage } from './provider-request.ts';

/**
 * Chat nests URL and detail in an object; Responses has both in the part, and its type requires the
 * detail. The provider detects the kind of image itself, whatever a data URL declares. Throws
 * `unsupported_content` for a data URL that is not an image in base64; `path` is the part's path.
 */
export function convertImage(image: ImagePart, path: string): InputImage {
  if (/^data:/i.test(image.url) && !isImageInBase64(image.url)) {
    throw new GatewayError('unsupported_content', `${path}.image_url must be an image in base64 if it is a data URL`);
  }
  return { type: 'input_image', image_url: image.url, detail: image.detail ?? 'auto' };
}

function isImageInBase64(dataUrl: string): boolean {
  const comma = dataUrl.indexOf(',');
  const [mediaType = '', ...parameters] = dataUrl.slice('data:'.length, comma).toLowerCase().split(';');
  const hasData = comma >= 0 && comma + 1 < dataUrl.length;
  return hasData && mediaType.startsWith('image/') && parameters.some((parameter) => parameter.trim() === 'base64');
}
