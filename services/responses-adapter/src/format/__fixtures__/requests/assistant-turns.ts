import { question, result, text, toolCall } from './client-messages.ts';
import { assistantItem, callItem, outputItem, userItem } from './input-items.ts';
import type { InputItem, ResponsesRequestCase } from './provider-members.ts';

const calls = [toolCall('call_1')];
const calledItems = [callItem('call_1', 'weather', '{"city":"Delft"}'), outputItem('call_1', '12 °C')];

/** A request in which the assistant answered like this, and the input that its answer becomes. */
const answered = (name: string, answer: object, ...items: readonly InputItem[]): ResponsesRequestCase => ({
  name,
  request: { messages: [question, { role: 'assistant', ...answer }, { role: 'user', content: 'And?' }] },
  becomes: { input: [userItem('Hi'), ...items, userItem('And?')] },
});

/** A request in which the assistant called a tool like this, and the input that its message becomes. */
const called = (name: string, answer: object, ...items: readonly InputItem[]): ResponsesRequestCase => ({
  name,
  request: { messages: [question, { role: 'assistant', tool_calls: calls, ...answer }, result('call_1')] },
  becomes: { input: [userItem('Hi'), ...items, ...calledItems] },
});

/** What a model said before: words go before calls, and nothing is said with no words. */
export const assistantTurnCases: readonly ResponsesRequestCase[] = [
  answered('an answer', { content: 'Hello.' }, assistantItem('Hello.')),
  answered('an answer in a part', { content: [text('Hello.')] }, assistantItem('Hello.')),
  answered('an answer in several parts', { content: [text('Hello'), text('.')] }, assistantItem('Hello', '.')),
  answered('an answer with an empty part', { content: [text(''), text('Hello.')] }, assistantItem('Hello.')),
  answered('an answer that ends in white space', { content: 'Hello. \n' }, assistantItem('Hello. \n')),
  answered('an answer of white space only', { content: ' ' }, assistantItem(' ')),
  answered('an empty answer between the turns', { content: '' }),
  answered('an answer without parts', { content: [] }),
  answered('an answer of empty parts', { content: [text(''), text('')] }),
  answered('a refusal', { content: null, refusal: 'I can’t.' }, assistantItem({ refusal: 'I can’t.' })),
  answered('a refusal without content', { refusal: 'I can’t.' }, assistantItem({ refusal: 'I can’t.' })),
  answered(
    'a refusal in a part',
    { content: [{ type: 'refusal', refusal: 'I can’t.' }] },
    assistantItem({ refusal: 'I can’t.' }),
  ),
  answered(
    'an answer that became a refusal',
    { content: 'Well…', refusal: 'I can’t.' },
    assistantItem('Well…', { refusal: 'I can’t.' }),
  ),
  answered(
    'a refusal between texts',
    { content: [text('Well…'), { type: 'refusal', refusal: 'I can’t.' }, text('Sorry.')] },
    assistantItem('Well…', { refusal: 'I can’t.' }, 'Sorry.'),
  ),
  answered('an empty refusal', { content: 'Hello.', refusal: '' }, assistantItem('Hello.')),
  answered('a refusal that is null', { content: 'Hello.', refusal: null }, assistantItem('Hello.')),
  answered('no tool calls in a list', { content: 'Hello.', tool_calls: [] }, assistantItem('Hello.')),
  answered('tool calls that are null', { content: 'Hello.', tool_calls: null }, assistantItem('Hello.')),
  answered(
    'an answer replayed with all that came with it',
    { content: 'Hello.', refusal: null, annotations: [], audio: null, function_call: null, reasoning_content: 'Hm.' },
    assistantItem('Hello.'),
  ),
  answered(
    'an answer with ids of another format',
    { id: 'msg_1', status: 'completed', phase: 'final_answer', content: [{ ...text('Hello.'), id: 'x' }] },
    assistantItem('Hello.'),
  ),
  called('a call and null content', { content: null }),
  called('a call and empty content', { content: '' }),
  called('a call and no content', {}),
  called('a call and content without parts', { content: [] }),
  called('a call and an empty part', { content: [text('')] }),
  called('a call after words', { content: 'Let me look.' }, assistantItem('Let me look.')),
  called('a call after words in parts', { content: [text('Let me'), text('look.')] }, assistantItem('Let me', 'look.')),
  called('a call beside a refusal', { content: null, refusal: 'I can’t.' }, assistantItem({ refusal: 'I can’t.' })),
];
