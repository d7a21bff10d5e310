import { question } from './client-messages.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

const invalid = (name: string, request: object, field: string): ResponsesRequestCase => ({
  name,
  request,
  becomes: { refused: 'invalid_request', field },
});

/** A second message that is none. */
const message = (name: string, second: unknown, field: string) =>
  invalid(name, { messages: [question, second] }, `messages[1]${field}`);

/** A user's part of a kind that the endpoint does not take. */
const part = (name: string, content: object): ResponsesRequestCase => ({
  name,
  request: { messages: [question, { role: 'user', content: [{ type: 'text', text: 'See' }, content] }] },
  becomes: { refused: 'unsupported_content', field: 'messages[1].content[1]' },
});

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };

/** Conversations that are none, and parts that only other endpoints take: nothing is sent. */
export const malformedMessageCases: readonly ResponsesRequestCase[] = [
  invalid('no messages', {}, 'messages'),
  invalid('messages that are null', { messages: null }, 'messages'),
  invalid('an empty list of messages', { messages: [] }, 'messages'),
  invalid('a text for messages', { messages: 'Hi' }, 'messages'),
  invalid('no model', { model: undefined, messages: [question] }, 'model'),
  invalid('an empty model', { model: '', messages: [question] }, 'model'),
  invalid('a number for a model', { model: 5, messages: [question] }, 'model'),
  invalid('a user who says nothing', { messages: [{ role: 'user', content: [] }] }, 'messages'),
  invalid('only an empty answer', { messages: [{ role: 'assistant', content: '' }] }, 'messages'),
  invalid('only an assistant who says nothing', { messages: [{ role: 'assistant' }] }, 'messages'),
  invalid(
    'only an assistant whose content is null',
    { messages: [{ role: 'assistant', content: null, tool_calls: [] }] },
    'messages',
  ),
  invalid('only a system message without parts', { messages: [{ role: 'system', content: [] }] }, 'messages'),
  message('a message that is a text', 'Hi', ''),
  message('a message that is null', null, ''),
  message('a message without a role', { content: 'Hi' }, '.role'),
  message('a role that does not exist', { role: 'model', content: 'Hi' }, '.role'),
  message('a role in upper case', { role: 'User', content: 'Hi' }, '.role'),
  message('the old role of functions', { role: 'function', name: 'f', content: 'Hi' }, '.role'),
  message('a user without content', { role: 'user' }, '.content'),
  message('a user whose content is null', { role: 'user', content: null }, '.content'),
  message('a user whose content is a number', { role: 'user', content: 7 }, '.content'),
  message('a user whose content is one part', { role: 'user', content: { type: 'text', text: 'Hi' } }, '.content'),
  message('a system message whose content is null', { role: 'system', content: null }, '.content'),
  message('a part that is a text', { role: 'user', content: ['Hi'] }, '.content[0]'),
  message('a part without a type', { role: 'user', content: [{ text: 'Hi' }] }, '.content[0].type'),
  message('a text part without a text', { role: 'user', content: [{ type: 'text' }] }, '.content[0].text'),
  message(
    'a text part whose text is null',
    { role: 'user', content: [{ type: 'text', text: null }] },
    '.content[0].text',
  ),
  message('an old function call', { role: 'assistant', content: null, function_call: call.function }, '.content'),
  message('a refusal that is no text', { role: 'assistant', content: 'x', refusal: true }, '.refusal'),
  message('tool calls that are no list', { role: 'assistant', tool_calls: call }, '.tool_calls'),
  message('a tool call that is a text', { role: 'assistant', tool_calls: ['f'] }, '.tool_calls[0]'),
  message(
    'a call of a custom tool',
    { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'patch', input: '' } }] },
    '.tool_calls[0].type',
  ),
  message(
    'a call without an id',
    { role: 'assistant', tool_calls: [call, { type: 'function', function: call.function }] },
    '.tool_calls[1].id',
  ),
  message('a call without a function', { role: 'assistant', tool_calls: [{ id: 'a' }] }, '.tool_calls[0].function'),
  message(
    'a call without a name',
    { role: 'assistant', tool_calls: [{ id: 'a', function: { arguments: '{}' } }] },
    '.tool_calls[0].function.name',
  ),
  message(
    'arguments that are an object',
    { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] },
    '.tool_calls[0].function.arguments',
  ),
  message('a tool result without an id', { role: 'tool', content: 'x' }, '.tool_call_id'),
  message('a tool result whose id is a number', { role: 'tool', tool_call_id: 1, content: 'x' }, '.tool_call_id'),
  message('a tool result whose content is null', { role: 'tool', tool_call_id: 'a', content: null }, '.content'),
  message('a tool result that is an object', { role: 'tool', tool_call_id: 'a', content: { t: 12 } }, '.content'),
  part('audio', { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }),
  part('a file', { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } }),
  part('a video', { type: 'video_url', video_url: { url: 'https://example.org/a.mp4' } }),
  part('a text as Responses writes it', { type: 'input_text', text: 'Hi' }),
  part('an image as Responses writes it', { type: 'input_image', image_url: 'https://example.org/a.png' }),
  part('an image as Messages writes it', { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }),
  part('a document', { type: 'document', source: {} }),
  part('a refusal by the user', { type: 'refusal', refusal: 'No.' }),
  part('a part of an unheard-of type', { type: 'hologram' }),
  {
    name: 'thinking of another provider',
    request: {
      messages: [question, { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'x' }] }],
    },
    becomes: { refused: 'unsupported_content', field: 'messages[1].content[0]' },
  },
];
