import { GatewayError } from '@gateway/errors';
import type { ImageBlock, ImageMediaType } from './provider-request.ts';

/**
 * Converts an image's URL in a chat message to an image block; `field` is its path. Throws
 * `unsupported_content` for a scheme or a media type that the Messages format does not support, and
 * `invalid_request` for a data URL without image data.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision
 */
export function convertImage(url: string, field: string): ImageBlock {
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0].toLowerCase();
  if (scheme === 'data') return convertDataUrl(url, field);
  if ((scheme === 'http' || scheme === 'https') && URL.canParse(url)) {
    return { type: 'image', source: { type: 'url', url } };
  }
  throw new GatewayError('unsupported_content', `${field} must be an http, https or data URL`);
}

function convertDataUrl(url: string, field: string): ImageBlock {
  const comma = url.indexOf(',');
  const [declaredType = '', ...parameters] = url.slice('data:'.length, Math.max(comma, 0)).toLowerCase().split(';');
  if (comma < 0 || !parameters.some((parameter) => parameter.trim() === 'base64')) {
    throw new GatewayError('unsupported_content', `${field} must use base64 if it is a data URL`);
  }
  const data = readBase64(url.slice(comma + 1), field);
  const mediaType = sniffMediaType(data) ?? knownMediaType(declaredType.trim());
  if (mediaType === undefined) {
    throw new GatewayError('unsupported_content', `${field} must be a JPEG, PNG, GIF or WebP image`);
  }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

function readBase64(text: string, field: string): string {
  const data = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    throw new GatewayError('invalid_request', `${field} must contain valid base64 if it is a data URL`);
  }
  return data;
}

/**
 * The type that the first bytes show. The provider refuses an image whose declared type differs.
 */
function sniffMediaType(data: string): ImageMediaType | undefined {
  const start = Buffer.from(data.slice(0, 16), 'base64').toString('latin1');
  if (start.startsWith('\x89PNG')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (start.startsWith('GIF8')) return 'image/gif';
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP') return 'image/webp';
  return undefined;
}

function knownMediaType(declared: string): ImageMediaType | undefined {
  const type = declared.replace(/\/jpg$/, '/jpeg');
  return mediaTypes.find((known) => known === type);
}

const mediaTypes: readonly ImageMediaType[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
