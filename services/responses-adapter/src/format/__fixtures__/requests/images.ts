import { text } from './client-messages.ts';
import { inputImage, userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

const onePixelPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = `data:image/png;base64,${onePixelPng}`;
const link = 'https://example.org/cat.png';

const details = ['auto', 'low', 'high', 'original'] as const;

/** URLs that go to the provider as they are. */
const urls: readonly { readonly what: string; readonly url: string }[] = [
  { what: 'https URL', url: link },
  { what: 'http URL', url: 'http://example.org/cat.png' },
  { what: 'https URL in upper case', url: 'HTTPS://EXAMPLE.ORG/CAT.PNG' },
  { what: 'https URL with a query', url: 'https://example.org/i?id=1&size=2%20x#top' },
  { what: 'https URL of another script', url: 'https://例え.jp/猫.png' },
  { what: 'data URL of a PNG', url: png },
  { what: 'data URL of a JPEG', url: 'data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ==' },
  { what: 'data URL of a GIF', url: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' },
  { what: 'data URL of a WebP', url: 'data:image/webp;base64,UklGRiIAAABXRUJQVlA4IA==' },
  { what: 'data URL of an image/jpg', url: 'data:image/jpg;base64,/9j/4AAQSkZJRgABAQ==' },
  { what: 'data URL that declares another type', url: 'data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUg==' },
  { what: 'data URL in upper case', url: `DATA:IMAGE/PNG;BASE64,${onePixelPng}` },
  { what: 'data URL with a parameter', url: `data:image/png;charset=utf-8;base64,${onePixelPng}` },
  { what: 'data URL with a name', url: `data:image/png;name=cat.png;base64,${onePixelPng}` },
  { what: 'data URL with a space in it', url: `data:image/png; base64,${onePixelPng}` },
  { what: 'data URL without padding', url: 'data:image/gif;base64,R0lGODlhAQABAAAAACw' },
  { what: 'long data URL', url: `data:image/png;base64,${'iVBORw0KGgoAAAAN'.repeat(2_000)}` },
];

/** Data URLs that hold no image that the provider takes. */
const noImages: readonly { readonly what: string; readonly url: string }[] = [
  { what: 'a data URL of a text', url: 'data:text/plain;base64,SGk=' },
  { what: 'a data URL of a PDF', url: 'data:application/pdf;base64,JVBERi0xLjQ=' },
  { what: 'a data URL of bytes', url: `data:application/octet-stream;base64,${onePixelPng}` },
  { what: 'a data URL without a type', url: `data:;base64,${onePixelPng}` },
  { what: 'a data URL that is not base64', url: 'data:image/svg+xml;utf8,<svg/>' },
  { what: 'a data URL without an encoding', url: `data:image/png,${onePixelPng}` },
  { what: 'a data URL without a comma', url: 'data:image/png;base64' },
  { what: 'a data URL without data', url: 'data:image/png;base64,' },
];

/** Addresses that are none for a provider. */
const noUrls: readonly { readonly what: string; readonly url: unknown }[] = [
  { what: 'a file URL', url: 'file:///etc/passwd' },
  { what: 'an FTP URL', url: 'ftp://example.org/cat.png' },
  { what: 'a blob URL', url: 'blob:https://example.org/1' },
  { what: 'a bucket URL', url: 'gs://bucket/cat.png' },
  { what: 'a path', url: '/cat.png' },
  { what: 'bare base64', url: onePixelPng },
  { what: 'an empty URL', url: '' },
  { what: 'a number as URL', url: 5 },
  { what: 'no URL', url: undefined },
];

const imageUrl = (url: unknown, more: object = {}) => ({ type: 'image_url', image_url: { url, ...more } });
const asking = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] });

export const imageCases: readonly ResponsesRequestCase[] = [
  ...urls.map(({ what, url }) => ({
    name: `an image by ${what}`,
    request: asking(text('What is it?'), imageUrl(url)),
    becomes: { input: [userItem('What is it?', inputImage(url))] },
  })),
  ...details.map((detail) => ({
    name: `an image in detail ${detail}`,
    request: asking(imageUrl(link, { detail })),
    becomes: { input: [userItem(inputImage(link, detail))] },
  })),
  {
    name: 'an image whose detail is null',
    request: asking(imageUrl(link, { detail: null })),
    becomes: { input: [userItem(inputImage(link, 'auto'))] },
  },
  {
    name: 'an image by URL without an object around it',
    request: asking({ type: 'image_url', image_url: link }),
    becomes: { input: [userItem(inputImage(link))] },
  },
  {
    name: 'images between texts',
    request: asking(text('This'), imageUrl(png), text('or'), imageUrl(link, { detail: 'low' }), text('?')),
    becomes: { input: [userItem('This', inputImage(png), 'or', inputImage(link, 'low'), '?')] },
  },
  {
    name: 'the same image in two messages',
    request: {
      messages: [
        { role: 'user', content: [imageUrl(png)] },
        { role: 'user', content: [imageUrl(png)] },
      ],
    },
    becomes: { input: [userItem(inputImage(png)), userItem(inputImage(png))] },
  },
  {
    name: 'members of an image that only another format knows',
    request: asking({ ...imageUrl(link, { format: 'image/png' }), cache_control: { type: 'ephemeral' } }),
    becomes: { input: [userItem(inputImage(link))] },
  },
  ...noImages.map(({ what, url }) => ({
    name: `an image by ${what}`,
    request: asking(text('What is it?'), imageUrl(url)),
    becomes: { refused: 'unsupported_content', field: 'messages[0].content[1].image_url' } as const,
  })),
  ...noUrls.map(({ what, url }) => ({
    name: `an image by ${what}`,
    request: asking(imageUrl(url)),
    becomes: { refused: 'invalid_request', field: 'messages[0].content[0].image_url.url' } as const,
  })),
  {
    name: 'an unfit image late in a conversation',
    request: {
      messages: [
        { role: 'system', content: 'Be terse.' },
        { role: 'user', content: 'Hi' },
        { role: 'user', content: [imageUrl(png), imageUrl('data:audio/wav;base64,UklGRg==')] },
      ],
    },
    becomes: { refused: 'unsupported_content', field: 'messages[2].content[1].image_url' },
  },
  {
    name: 'an image in a detail that is not known',
    request: asking(imageUrl(link, { detail: 'ultra' })),
    becomes: { refused: 'invalid_request', field: 'messages[0].content[0].image_url.detail' },
  },
  {
    name: 'an image part without an image',
    request: asking({ type: 'image_url' }),
    becomes: { refused: 'invalid_request', field: 'messages[0].content[0].image_url' },
  },
  ...['system', 'developer', 'assistant'].map((role) => ({
    name: `an image in the content of the role ${role}`,
    request: { messages: [{ role, content: [imageUrl(link)] }] },
    becomes: { refused: 'unsupported_content', field: 'messages[0].content[0]' } as const,
  })),
  {
    name: 'an image in a tool result',
    request: { messages: [{ role: 'tool', tool_call_id: 'call_1', content: [text('See'), imageUrl(link)] }] },
    becomes: { refused: 'unsupported_content', field: 'messages[0].content[1]' },
  },
];
