import type OpenAI from 'openai';

type SdkEventType = OpenAI.Responses.ResponseStreamEvent['type'] | OpenAI.Responses.ResponsesServerEvent['type'];
type SdkItemType = OpenAI.Responses.ResponseOutputItem['type'];
type SdkPartType =
  | OpenAI.Responses.ResponseContentPartDoneEvent['part']['type']
  | OpenAI.Responses.ResponseOutputMessage['content'][number]['type'];

/**
 * The treatment of every event in the provider's SDK: it has content for a chat answer, or it is
 * known and skipped. With a new event in the SDK this does not compile: decide on it, then add it
 * to the reader too.
 */
export const sdkEvents = {
  'response.output_item.added': 'read',
  'response.output_item.done': 'read',
  'response.content_part.done': 'read',
  'response.output_text.delta': 'read',
  'response.output_text.done': 'read',
  'response.refusal.delta': 'read',
  'response.refusal.done': 'read',
  'response.function_call_arguments.delta': 'read',
  'response.function_call_arguments.done': 'read',
  'response.reasoning_summary_text.delta': 'read',
  'response.reasoning_text.delta': 'read',
  'response.completed': 'read',
  'response.incomplete': 'read',
  'response.failed': 'read',
  error: 'read',
  'response.created': 'skipped',
  'response.in_progress': 'skipped',
  'response.queued': 'skipped',
  'response.content_part.added': 'skipped',
  'response.output_text.annotation.added': 'skipped',
  'response.reasoning_summary_part.added': 'skipped',
  'response.reasoning_summary_part.done': 'skipped',
  'response.reasoning_summary_text.done': 'skipped',
  'response.reasoning_text.done': 'skipped',
  'response.audio.delta': 'skipped',
  'response.audio.done': 'skipped',
  'response.audio.transcript.delta': 'skipped',
  'response.audio.transcript.done': 'skipped',
  'response.code_interpreter_call.completed': 'skipped',
  'response.code_interpreter_call.in_progress': 'skipped',
  'response.code_interpreter_call.interpreting': 'skipped',
  'response.code_interpreter_call_code.delta': 'skipped',
  'response.code_interpreter_call_code.done': 'skipped',
  'response.compaction.compacting': 'skipped',
  'response.custom_tool_call_input.delta': 'skipped',
  'response.custom_tool_call_input.done': 'skipped',
  'response.file_search_call.completed': 'skipped',
  'response.file_search_call.in_progress': 'skipped',
  'response.file_search_call.searching': 'skipped',
  'response.image_generation_call.completed': 'skipped',
  'response.image_generation_call.generating': 'skipped',
  'response.image_generation_call.in_progress': 'skipped',
  'response.image_generation_call.partial_image': 'skipped',
  'response.mcp_call.completed': 'skipped',
  'response.mcp_call.failed': 'skipped',
  'response.mcp_call.in_progress': 'skipped',
  'response.mcp_call_arguments.delta': 'skipped',
  'response.mcp_call_arguments.done': 'skipped',
  'response.mcp_list_tools.completed': 'skipped',
  'response.mcp_list_tools.failed': 'skipped',
  'response.mcp_list_tools.in_progress': 'skipped',
  'response.shell_call_command.added': 'skipped',
  'response.shell_call_command.delta': 'skipped',
  'response.shell_call_command.done': 'skipped',
  'response.shell_call_output_content.delta': 'skipped',
  'response.shell_call_output_content.done': 'skipped',
  'response.web_search_call.completed': 'skipped',
  'response.web_search_call.in_progress': 'skipped',
  'response.web_search_call.searching': 'skipped',
  'response.steer.accepted': 'skipped',
  'response.steer.failed': 'skipped',
  'response.steer.pending': 'skipped',
} satisfies Record<SdkEventType, 'read' | 'skipped'>;

/** The treatment of every kind of item in a response. */
export const sdkItems = {
  message: 'read',
  function_call: 'read',
  additional_tools: 'skipped',
  apply_patch_call: 'skipped',
  apply_patch_call_output: 'skipped',
  code_interpreter_call: 'skipped',
  compaction: 'skipped',
  computer_call: 'skipped',
  computer_call_output: 'skipped',
  custom_tool_call: 'skipped',
  custom_tool_call_output: 'skipped',
  file_search_call: 'skipped',
  function_call_output: 'skipped',
  image_generation_call: 'skipped',
  local_shell_call: 'skipped',
  local_shell_call_output: 'skipped',
  mcp_approval_request: 'skipped',
  mcp_approval_response: 'skipped',
  mcp_call: 'skipped',
  mcp_list_tools: 'skipped',
  program: 'skipped',
  program_output: 'skipped',
  reasoning: 'skipped',
  shell_call: 'skipped',
  shell_call_output: 'skipped',
  tool_search_call: 'skipped',
  tool_search_output: 'skipped',
  web_search_call: 'skipped',
} satisfies Record<SdkItemType, 'read' | 'skipped'>;

/** The treatment of every kind of part in a message or its events. */
export const sdkParts = {
  output_text: 'read',
  refusal: 'read',
  reasoning_text: 'skipped',
} satisfies Record<SdkPartType, 'read' | 'skipped'>;
