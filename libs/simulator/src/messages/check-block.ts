import { isJsonObject, type JsonObject, toObjects } from '../json-value.ts';
import { invalidRequest } from './errors.ts';

/**
 * Checks one content block of a message, as far as its kind is known here; other kinds pass.
 *
 * @throws {ProviderRefusal}
 */
export function checkBlock(block: unknown, path: string, role: string): void {
  if (!isJsonObject(block)) throw invalidRequest(`${path}: Input should be a valid dictionary`);
  switch (block.type) {
    case undefined:
      throw invalidRequest(`${path}.type: Field required`);
    case 'text':
      return checkText(block, path);
    case 'image':
      return checkImage(block, path);
    case 'tool_use':
      return checkToolUse(block, path, role);
    case 'tool_result':
      return checkToolResult(block, path, role);
    case 'input_text':
    case 'output_text':
    case 'image_url':
      throw invalidRequest(
        `${path}: Input tag '${block.type}' found using 'type' does not match any of the expected tags`,
      );
  }
}

function checkText({ text }: JsonObject, path: string): void {
  if (typeof text !== 'string') throw invalidRequest(`${path}.text.text: Field required`);
  if (text === '') throw invalidRequest('messages: text content blocks must be non-empty');
  if (!/\S/.test(text)) throw invalidRequest('messages: text content blocks must contain non-whitespace text');
}

/** The first characters of each kind of image, in base64. */
const imageStarts: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
};

function checkImage({ source }: JsonObject, path: string): void {
  if (!isJsonObject(source)) throw invalidRequest(`${path}.image.source: Field required`);
  if (source.type === 'url' && typeof source.url === 'string') return;
  if (source.type !== 'base64') return;
  const { media_type: mediaType, data } = source;
  if (typeof mediaType !== 'string' || imageStarts[mediaType] === undefined) {
    const kinds = Object.keys(imageStarts)
      .map((kind) => `'${kind}'`)
      .join(', ');
    throw invalidRequest(`${path}.image.source.base64.media_type: Input should be ${kinds}`);
  }
  if (typeof data !== 'string') throw invalidRequest(`${path}.image.source.base64.data: Field required`);
  const actual = Object.keys(imageStarts).find((kind) => data.startsWith(imageStarts[kind] ?? kind));
  if (actual === mediaType) return;
  throw invalidRequest(
    actual === undefined
      ? `${path}.image.source.base64.data: Could not process image`
      : `${path}.image.source.base64.data: The image was specified using the ${mediaType} media type, but the image appears to be a ${actual} image`,
  );
}

function checkToolUse({ id, name, input }: JsonObject, path: string, role: string): void {
  if (role !== 'assistant') throw invalidRequest(`${path}: \`tool_use\` blocks can only be in \`assistant\` messages`);
  checkId(id, `${path}.tool_use.id`);
  if (typeof name !== 'string' || name === '') throw invalidRequest(`${path}.tool_use.name: Field required`);
  if (!isJsonObject(input)) throw invalidRequest(`${path}.tool_use.input: Input should be a valid dictionary`);
}

function checkToolResult({ tool_use_id: id, content }: JsonObject, path: string, role: string): void {
  if (role !== 'user') throw invalidRequest(`${path}: \`tool_result\` blocks can only be in \`user\` messages`);
  checkId(id, `${path}.tool_result.tool_use_id`);
  if (toObjects(content).some((block) => block.type === 'text' && block.text === '')) {
    throw invalidRequest('messages: text content blocks must be non-empty');
  }
}

function checkId(id: unknown, path: string): void {
  if (typeof id === 'string' && /^[a-zA-Z0-9_-]+$/.test(id)) return;
  throw invalidRequest(`${path}: String should match pattern '^[a-zA-Z0-9_-]+$'`);
}
