import type { RequestCases } from './provider-request.ts';

const image = { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } };
const url = 'messages[0].content[0].image_url.url';

/** Content that is refused before anything is sent. */
export const refusedContentCases: RequestCases = [
  ...unsupportedParts('user', {
    'audio for input': { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    'a file': { type: 'file', file: { file_id: 'file-1' } },
    'a video': { type: 'video_url', video_url: { url: 'https://example.com/cat.mp4' } },
    'a refusal by the user': { type: 'refusal', refusal: 'No.' },
    'a text part of the Responses format': { type: 'input_text', text: 'Hi' },
    'an image part of the Responses format': { type: 'input_image', image_url: 'https://example.com/cat.png' },
    'an image block of the Messages format': { type: 'image', source: { type: 'url', url: 'https://example.com/a' } },
    'a tool result block of the Messages format': { type: 'tool_result', tool_use_id: 'a', content: 'sun' },
  }),
  ...unsupportedParts('system', { 'an image of the system': image }),
  ...unsupportedParts('assistant', {
    'an image of the assistant': image,
    'a thinking block of the assistant': { type: 'thinking', thinking: 'Hm.', signature: 'x' },
    'a call as a part': { type: 'tool_use', id: 'a', name: 'weather', input: {} },
  }),
  ...unsupportedParts('tool', { 'an image of a tool': image }),
  ...images('unsupported_content', {
    'an SVG': 'data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=',
    'a PDF as an image': 'data:application/pdf;base64,JVBERi0xLjQ=',
    'a HEIC image': 'data:image/heic;base64,AAAAGGZ0eXBoZWlj',
    'a data URL without base64': 'data:image/png,plain',
    'a data URL without data': 'data:image/png;base64',
    'an https URL that is none': 'https://exa mple.com/cat.png',
  }),
  ...images('invalid_request', {
    'an empty data URL': 'data:image/png;base64,',
    'a data URL of broken base64': 'data:image/png;base64,not base64!',
    'a data URL of nothing but padding': 'data:image/png;base64,==',
    'an image on the disk': 'file:///etc/passwd',
    'an image by FTP': 'ftp://example.com/cat.png',
    'an image by its name': 'cat.png',
    'an image without a URL': '',
  }),
  {
    name: 'the one bad image of many',
    request: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'See' }, image, imageOf('data:image/tiff;base64,SUkqAA==')] },
      ],
    },
    becomes: { refused: 'unsupported_content', field: 'messages[1].content[2].image_url.url' },
  },
  {
    name: 'an image without its object',
    request: { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
    becomes: { refused: 'invalid_request', field: 'messages[0].content[0].image_url' },
  },
  {
    name: 'an image in a detail that there is not',
    request: {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.b', detail: 'ultra' } }] },
      ],
    },
    becomes: { refused: 'invalid_request', field: 'messages[0].content[0].image_url.detail' },
  },
  ...conversations({
    'no messages': [undefined, 'messages'],
    'an empty conversation': [[], 'messages'],
    'a conversation that is a text': ['Hi', 'messages'],
    'a message that is a text': [['Hi'], 'messages[0]'],
    'a message without a role': [[{ content: 'Hi' }], 'messages[0].role'],
    'a message of an unknown role': [[{ role: 'model', content: 'Hi' }], 'messages[0].role'],
    'a result in the old form': [[{ role: 'function', name: 'weather', content: 'sun' }], 'messages[0].role'],
    'a call in the old form': [
      [{ role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{}' } }],
      'messages[0].content',
    ],
    'a user without content': [[{ role: 'user' }], 'messages[0].content'],
    'a user whose content is null': [[{ role: 'user', content: null }], 'messages[0].content'],
    'content that is a number': [[{ role: 'user', content: 7 }], 'messages[0].content'],
    'content that is one part': [[{ role: 'user', content: { type: 'text', text: 'Hi' } }], 'messages[0].content'],
    'a part that is a text': [[{ role: 'user', content: ['Hi'] }], 'messages[0].content[0]'],
    'a part without a type': [[{ role: 'user', content: [{ text: 'Hi' }] }], 'messages[0].content[0].type'],
    'a text part without text': [[{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text'],
    'nothing but an assistant that says and calls nothing': [[{ role: 'assistant', content: null }], 'messages'],
    'a refusal that is no text': [[{ role: 'assistant', content: '', refusal: true }], 'messages[0].refusal'],
    'nothing but blank text': [[{ role: 'user', content: ' \n' }], 'messages'],
    'nothing but empty lists of parts': [
      [
        { role: 'user', content: [] },
        { role: 'system', content: [] },
      ],
      'messages',
    ],
    'nothing but an empty answer': [[{ role: 'assistant', content: '' }], 'messages'],
  }),
];

function unsupportedParts(role: string, parts: Readonly<Record<string, object>>): RequestCases {
  return Object.entries(parts).map(([name, part]) => ({
    name,
    request: { messages: [{ role, content: [part], ...(role === 'tool' && { tool_call_id: 'a' }) }] },
    becomes: { refused: 'unsupported_content', field: 'messages[0].content[0]' },
  }));
}

function images(
  refused: 'unsupported_content' | 'invalid_request',
  urls: Readonly<Record<string, string>>,
): RequestCases {
  return Object.entries(urls).map(([name, address]) => ({
    name,
    request: { messages: [{ role: 'user', content: [imageOf(address)] }] },
    becomes: { refused, field: url },
  }));
}

function imageOf(address: string) {
  return { type: 'image_url', image_url: { url: address } };
}

function conversations(cases: Readonly<Record<string, readonly [messages: unknown, field: string]>>): RequestCases {
  return Object.entries(cases).map(([name, [messages, field]]) => ({
    name,
    request: { messages },
    becomes: { refused: 'invalid_request', field },
  }));
}
