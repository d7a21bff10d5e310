import type { ChatRequest, FunctionTool, ToolChoice } from '@gateway/chat';

/** The members of a request that concern tools; all absent when there are none. */
export interface ToolMembers {
  readonly tools?: readonly ResponsesTool[];
  readonly tool_choice?: ResponsesToolChoice | undefined;
  readonly parallel_tool_calls?: boolean | undefined;
}

export interface ResponsesTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly strict: boolean;
}

type ResponsesToolChoice = 'none' | 'auto' | 'required' | { readonly type: 'function'; readonly name: string };

/** The tools and how they may be called. Without tools the other two members are refused, so they are left out. */
export function convertTools({ tools, toolChoice, parallelToolCalls }: ChatRequest): ToolMembers {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(convertTool),
    tool_choice: toolChoice === undefined ? undefined : convertToolChoice(toolChoice),
    parallel_tool_calls: parallelToolCalls,
  };
}

/** `strict` is always said: chat means false by leaving it out, Responses would try true. */
function convertTool({ name, description, parameters, strict }: FunctionTool): ResponsesTool {
  return {
    type: 'function',
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  };
}

function convertToolChoice(choice: ToolChoice): ResponsesToolChoice {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.functionName };
}
