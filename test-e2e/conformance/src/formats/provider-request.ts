import type { Received, Scripted } from '../double/scripted-requests.ts';
import { must, NotApplicable } from '../verdict.ts';
import type { ReplyEndpoint } from './format.ts';
import { Found, isObject, ofType } from './found.ts';

/** The request to a provider, read from any format. */
export interface ProviderRequest {
  readonly format: ReplyEndpoint;
  readonly body: Found;
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that are not the user's, the model's or a tool's. */
  readonly system: readonly string[];
  readonly user: readonly string[];
  readonly assistant: readonly string[];
  /** Data URLs and other URLs. */
  readonly images: readonly string[];
  readonly tools: readonly Found[];
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly toolResults: readonly { readonly id: string; readonly text: string }[];
}

/** The one request with the marker. */
export function requestThatReached(scripted: Scripted): ProviderRequest {
  const [received] = scripted.received;
  must(received !== undefined, 'the text of the request should reach the provider; it did not');
  return readProviderRequest(received);
}

function readProviderRequest(received: Received): ProviderRequest {
  const body = new Found(received.body, 'request to the provider');
  const path = received.path.split('?')[0] ?? '';
  const common = { body, headers: received.headers };
  if (path.endsWith('/chat/completions')) return { format: 'chat', ...common, ...readChat(body) };
  if (path.endsWith('/messages')) return { format: 'messages', ...common, ...readMessages(body) };
  if (path.endsWith('/responses')) return { format: 'responses', ...common, ...readResponses(body) };
  throw new NotApplicable(`the provider is asked on ${path}, a format that is not read here`);
}

type Read = Omit<ProviderRequest, 'format' | 'body' | 'headers'>;

function readChat(body: Found): Read {
  const turns = body.at('messages').list;
  const ofRole = (...roles: string[]) => turns.filter((turn) => roles.includes(turn.at('role').string));
  const textsOf = (turn: Found) => texts(turn.at('content'));
  return {
    system: ofRole('system', 'developer').flatMap(textsOf),
    user: ofRole('user').flatMap(textsOf),
    assistant: ofRole('assistant').flatMap(textsOf),
    images: ofRole('user').flatMap((turn) =>
      partsOf(turn.at('content'), 'image_url').map((part) => part.at('image_url', 'url').string),
    ),
    tools: body.at('tools').listOrNone.map((tool) => tool.at('function')),
    toolCalls: ofRole('assistant')
      .flatMap((turn) => turn.at('tool_calls').listOrNone)
      .map((call) => ({
        id: call.at('id').string,
        name: call.at('function', 'name').string,
        input: parsed(call.at('function', 'arguments')),
      })),
    toolResults: ofRole('tool').map((turn) => ({
      id: turn.at('tool_call_id').string,
      text: textsOf(turn).join(''),
    })),
  };
}

function readMessages(body: Found): Read {
  const turns = body.at('messages').list;
  const contentOf = (role: string) =>
    turns.filter((turn) => turn.at('role').value === role).map((turn) => turn.at('content'));
  return {
    system: [body.at('system'), ...contentOf('system')].flatMap(texts),
    user: contentOf('user').flatMap(texts),
    assistant: contentOf('assistant').flatMap(texts),
    images: contentOf('user')
      .flatMap((content) => partsOf(content, 'image'))
      .map((block) => imageUrl(block.at('source'))),
    tools: body.at('tools').listOrNone,
    toolCalls: contentOf('assistant')
      .flatMap((content) => partsOf(content, 'tool_use'))
      .map((block) => ({ id: block.at('id').string, name: block.at('name').string, input: block.at('input').value })),
    toolResults: contentOf('user')
      .flatMap((content) => partsOf(content, 'tool_result'))
      .map((block) => ({ id: block.at('tool_use_id').string, text: texts(block.at('content')).join('') })),
  };
}

function readResponses(body: Found): Read {
  const input = body.at('input');
  const items: readonly Found[] = typeof input.value === 'string' ? [] : input.list;
  const itemsOf = (type: string) => items.filter((item) => (item.at('type').value ?? 'message') === type);
  const ofRole = (...roles: string[]) =>
    itemsOf('message')
      .filter((item) => roles.includes(item.at('role').string))
      .map((item) => item.at('content'));
  return {
    system: [body.at('instructions'), ...ofRole('system', 'developer')].flatMap(texts),
    user: typeof input.value === 'string' ? [input.value] : ofRole('user').flatMap(texts),
    assistant: ofRole('assistant').flatMap(texts),
    images: ofRole('user')
      .flatMap((content) => partsOf(content, 'input_image'))
      .map((part) => part.at('image_url').string),
    tools: body.at('tools').listOrNone,
    toolCalls: itemsOf('function_call').map((item) => ({
      id: item.at('call_id').string,
      name: item.at('name').string,
      input: parsed(item.at('arguments')),
    })),
    toolResults: itemsOf('function_call_output').map((item) => ({
      id: item.at('call_id').string,
      text: texts(item.at('output')).join(''),
    })),
  };
}

/** The text of a string, or of the parts that have a text. */
function texts(content: Found): readonly string[] {
  if (!content.isThere) return [];
  if (typeof content.value === 'string') return [content.value];
  return content.list.filter((part) => typeof part.at('text').value === 'string').map((part) => part.at('text').string);
}

function partsOf(content: Found, type: string): readonly Found[] {
  return Array.isArray(content.value) ? ofType(content.list, type) : [];
}

function imageUrl(source: Found): string {
  return source.at('type').value === 'base64'
    ? `data:${source.at('media_type').string};base64,${source.at('data').string}`
    : source.at('url').string;
}

function parsed(json: Found): unknown {
  try {
    const value: unknown = JSON.parse(json.string === '' ? '{}' : json.string);
    return isObject(value) ? value : json.string;
  } catch {
    throw json.not('JSON');
  }
}
