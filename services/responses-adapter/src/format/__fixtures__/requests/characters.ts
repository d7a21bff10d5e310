import { calling, result, text, toolCall } from './client-messages.ts';
import { assistantItem, callItem, outputItem, userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

/** Texts that must arrive as they were said. */
const kept: Readonly<Record<string, string>> = {
  'accents in one character or two': 'é e\u0301',
  'Chinese, Arabic and Hindi': '你好 مرحبا नमस्ते',
  'emoji of several characters': '👨‍👩‍👧‍👦 🏳️‍🌈 🇳🇱 👍🏽',
  'both halves of a character': '\ud83d\uddfc',
  'control characters': 'a\u0000b\u0007c\u001b[31m\u007f',
  'a byte order mark': '\ufeffHi',
  'characters without width': 'a\u200bb\u200dc\u2060d\u00ad',
  'a right-to-left override': 'abc\u202edef\u202c',
  'the last characters there are': '\uffff \u{10ffff}',
  'the replacement character': 'a\ufffdb',
  'a spelled escape of half a character': 'JSON has \\ud83d for that.',
  'quotes and backslashes': '"a" \\ \'b\' `c` \\n </script> $d',
};

/** What stands in place of half a character, which no provider takes. */
const replaced = '\ufffd';

export const characterCases: readonly ResponsesRequestCase[] = [
  ...Object.entries(kept).map(([name, said]) => ({
    name,
    request: {
      messages: [
        { role: 'system', content: said },
        { role: 'user', content: [text(said)] },
        { role: 'assistant', content: said, tool_calls: [toolCall('call_1', 'f', JSON.stringify({ said }))] },
        result('call_1', said),
      ],
    },
    becomes: {
      instructions: said,
      input: [
        userItem(said),
        assistantItem(said),
        callItem('call_1', 'f', JSON.stringify({ said })),
        outputItem('call_1', said),
      ],
    },
  })),
  {
    name: 'half a character at the end of each text',
    request: {
      messages: [
        { role: 'system', content: 'cut \ud83d' },
        { role: 'user', content: 'cut \ud83d' },
        { role: 'assistant', content: 'cut \ud83d' },
        calling(toolCall('call_1', 'f', '{"said":"cut \ud83d"}')),
        result('call_1', 'cut \ud83d'),
      ],
    },
    becomes: {
      instructions: `cut ${replaced}`,
      input: [
        userItem(`cut ${replaced}`),
        assistantItem(`cut ${replaced}`),
        callItem('call_1', 'f', `{"said":"cut ${replaced}"}`),
        outputItem('call_1', `cut ${replaced}`),
      ],
    },
  },
  {
    name: 'half a character at the beginning',
    request: { messages: [{ role: 'user', content: '\uddfc was a tower' }] },
    becomes: { input: [userItem(`${replaced} was a tower`)] },
  },
  {
    name: 'halves of characters the wrong way round',
    request: { messages: [{ role: 'user', content: '\uddfc\ud83d 🗼' }] },
    becomes: { input: [userItem(`${replaced}${replaced} 🗼`)] },
  },
  {
    name: 'half a character spelled within arguments',
    request: { messages: [calling(toolCall('call_1', 'f', '{"said":"cut \\ud83d"}')), result('call_1')] },
    becomes: { input: [callItem('call_1', 'f', '{"said":"cut \\ud83d"}'), outputItem('call_1', '12 °C')] },
  },
  {
    name: 'half a character in the description of a tool',
    request: {
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: { name: 'f', description: 'cut \ud83d' } }],
    },
    becomes: {
      input: [userItem('Hi')],
      tools: [
        {
          type: 'function',
          name: 'f',
          description: `cut ${replaced}`,
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
    },
  },
];
