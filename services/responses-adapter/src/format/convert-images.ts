import type { ImagePart } from '@gateway/chat';

/** An image of a user message, https or data URL unchanged. */
export interface InputImage {
  readonly type: 'input_image';
  readonly image_url: string;
  readonly detail: 'auto' | 'low' | 'high' | 'original';
}

/** Chat nests URL and detail in an object; Responses has both in the part, and its type wants the detail. */
export function convertImage(image: ImagePart): InputImage {
  return { type: 'input_image', image_url: image.url, detail: image.detail ?? 'auto' };
}
