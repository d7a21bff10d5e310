import type Anthropic from '@anthropic-ai/sdk';
import {
  assistant,
  call,
  type RequestCases,
  result,
  sentWeather,
  text,
  toolResult,
  toolUse,
  user,
  weather,
} from './provider-request.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const jpeg = '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA==';
const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const webp = 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA';
const cat = 'https://example.com/cat.png';

export const imageCases: RequestCases = [
  ...linkedImages({
    'an https URL': cat,
    'a URL with a query and a fragment': 'https://cdn.example.com/a%20b.webp?w=1&sig=x%2By==#top',
    'a URL whose scheme is in upper case': 'HTTPS://example.com/cat.png',
    'a URL of another script': 'https://例え.jp/画像.png',
    'a URL with a port and credentials': 'https://user:secret@example.com:8443/cat.png',
    'an http URL': 'http://example.com/cat.png',
  }),
  ...(['auto', 'low', 'high', 'original'] as const).map((detail) => ({
    name: `an image in ${detail} detail`,
    request: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: cat, detail } }] }] },
    becomes: { messages: [user(linked(cat))] },
  })),
  {
    name: 'an image whose URL is no object',
    request: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: cat }] }] },
    becomes: { messages: [user(linked(cat))] },
  },
  ...dataImages('image/png', png, {
    'a PNG': `data:image/png;base64,${png}`,
    'a PNG that is declared as JPEG': `data:image/jpeg;base64,${png}`,
    'a PNG that is declared as a file of any kind': `data:application/octet-stream;base64,${png}`,
    'a PNG that is declared as nothing': `data:;base64,${png}`,
    'a PNG that is declared in upper case': `DATA:IMAGE/PNG;BASE64,${png}`,
    'a PNG with parameters': `data:image/png;charset=utf-8;name=cat.png;base64,${png}`,
    'a PNG with spaces between the parameters': `data:image/png; charset=utf-8; base64,${png}`,
    'a PNG in lines': `data:image/png;base64,${png.slice(0, 40)}\r\n${png.slice(40, 80)}\n${png.slice(80)}`,
  }),
  ...dataImages('image/jpeg', jpeg, {
    'a JPEG': `data:image/jpeg;base64,${jpeg}`,
    'a JPEG that is declared as image/jpg': `data:image/jpg;base64,${jpeg}`,
    'a JPEG that is declared as PNG': `data:image/png;base64,${jpeg}`,
    'a JPEG that is declared as HEIC': `data:image/heic;base64,${jpeg}`,
  }),
  ...dataImages('image/gif', gif, { 'a GIF': `data:image/gif;base64,${gif}` }),
  ...dataImages('image/webp', webp, {
    'a WebP': `data:image/webp;base64,${webp}`,
    'a WebP that is declared as BMP': `data:image/bmp;base64,${webp}`,
  }),
  {
    name: 'images and texts by turns',
    request: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Compare' },
            { type: 'image_url', image_url: { url: cat } },
            { type: 'text', text: 'with' },
            { type: 'image_url', image_url: { url: `data:image/gif;base64,${gif}` } },
            { type: 'image_url', image_url: { url: cat } },
            { type: 'text', text: '.' },
          ],
        },
      ],
    },
    becomes: {
      messages: [user(text('Compare'), linked(cat), text('with'), inline('image/gif', gif), linked(cat), text('.'))],
    },
  },
  {
    name: 'an image beside blank text',
    request: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'image_url', image_url: { url: cat } },
          ],
        },
      ],
    },
    becomes: { messages: [user(linked(cat))] },
  },
  {
    name: 'an image in an earlier turn',
    request: {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: cat } }] },
        { role: 'assistant', content: 'A cat.' },
        { role: 'user', content: 'Which?' },
      ],
    },
    becomes: { messages: [user(linked(cat)), assistant(text('A cat.')), user(text('Which?'))] },
  },
  {
    name: 'an image that a user sends after a tool result',
    request: {
      tools: [weather],
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: cat } }] },
        result('a', 'sun'),
      ],
    },
    becomes: {
      tools: [sentWeather],
      messages: [user(text('Hi')), assistant(toolUse('a')), user(toolResult('a', 'sun'), linked(cat))],
    },
  },
];

function linkedImages(urls: Readonly<Record<string, string>>): RequestCases {
  return Object.entries(urls).map(([name, url]) => ({
    name: `an image by ${name}`,
    request: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    becomes: { messages: [user(linked(url))] },
  }));
}

/** Data URLs that all hold the same image. */
function dataImages(
  mediaType: Anthropic.Base64ImageSource['media_type'],
  data: string,
  urls: Readonly<Record<string, string>>,
): RequestCases {
  return Object.entries(urls).map(([name, url]) => ({
    name: `an image by data URL: ${name}`,
    request: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    becomes: { messages: [user(inline(mediaType, data))] },
  }));
}

function linked(url: string): Anthropic.ImageBlockParam {
  return { type: 'image', source: { type: 'url', url } };
}

function inline(mediaType: Anthropic.Base64ImageSource['media_type'], data: string): Anthropic.ImageBlockParam {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}
