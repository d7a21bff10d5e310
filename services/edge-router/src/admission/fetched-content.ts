import { isObject, type JsonBody } from '@gateway/json';

/**
 * Whether a provider may read more for a request than its bytes show: what it fetches by URL or id,
 * what it keeps from earlier requests, what its own tools return. Only members and types that are
 * known to bring their whole content along are trusted; all others count as fetched.
 */
export function mayFetch(body: Pick<JsonBody, 'source' | 'namedMembers'>): boolean {
  // Such a request reserves much for its bytes already. Parsing it would block the event loop.
  if (body.source.length > mostParsedBytes) return true;
  return body.namedMembers.some(({ key, valueStart, valueEnd }) => {
    if (plainMembers.has(key)) return false;
    const value: unknown = JSON.parse(body.source.text(valueStart, valueEnd));
    if (key === 'context_management') return !onlyClears(value);
    return walkedMembers.has(key) ? refers(value) : !isNothing(value);
  });
}

const mostParsedBytes = 512 * 1024;

/** Parameters that add nothing to what a model reads. */
const plainMembers = new Set(
  `access_programs background billing_policy cache_control client_metadata diagnostics fallback_credit_token
  frequency_penalty image include
  inference_geo logit_bias logprobs max_completion_tokens max_output_tokens max_tokens max_tool_calls metadata
  moderation model n output_config output_format parallel_tool_calls presence_penalty prompt_cache_key
  prompt_cache_options prompt_cache_retention reasoning reasoning_effort response_format safety_identifier seed
  service_tier speed stop stop_sequences store stream stream_options temperature text thinking tool_choice
  top_k top_logprobs top_p truncation user user_profile_id verbosity workspace_id`.split(/\s+/),
);

/** Parameters with content. */
const walkedMembers = new Set('input instructions messages system tools'.split(' '));

/** Whether content is only left out. To summarise it takes another pass over it. */
function onlyClears(value: unknown): boolean {
  const edits = isObject(value) && Array.isArray(value.edits) ? value.edits : [value];
  return edits.every((edit) => isNothing(edit) || (isObject(edit) && `${edit.type}`.startsWith('clear_')));
}

function refers(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(refers);
  if (!isObject(value)) return false;
  if (typeof value.type === 'string' && !isPlainType(value.type)) return true;
  return Object.entries(value).some(
    ([name, member]) => !opaqueMembers.has(name) && (isReference(name, member) || refers(member)),
  );
}

/** Blocks, items and tools that bring their content along, or that the client runs. */
function isPlainType(type: string): boolean {
  return plainTypes.has(type) || /^(?:bash|computer|memory|text_editor)_\d{8}$/.test(type);
}

const plainTypes = new Set(
  `additional_tools apply_patch apply_patch_call apply_patch_call_output base64 compaction computer computer_call computer_call_output computer_screenshot
  computer_use_preview content custom custom_tool_call custom_tool_call_output document exit function
  function_call function_call_output image image_url input_image input_text local_shell
  local_shell_call local_shell_call_output message namespace output_text reasoning reasoning_text
  redacted_thinking refusal search_result server_tool_use shell_call shell_call_output summary_text text
  thinking timeout tool_reference tool_result tool_search_call tool_search_output tool_use
  web_fetch_tool_result_error web_search_call web_search_result web_search_tool_result
  web_search_tool_result_error`.split(/\s+/),
);

/** Data of the client's or of an earlier answer: types and names in it mean nothing here. */
const opaqueMembers = new Set(
  `action annotations arguments cache_control caller citations format input input_schema metadata
  output_schema parameters prompt_cache_breakpoint schema`.split(/\s+/),
);

function isReference(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (name === 'image_url') return !urlOf(value).startsWith('data:');
  // A small PDF may have any number of pages.
  return name === 'file_id' || name === 'file_url' || (name === 'media_type' && value === 'application/pdf');
}

/** Chat completions wrap the address in an object. */
function urlOf(value: unknown): string {
  const url = isObject(value) ? value.url : value;
  return typeof url === 'string' ? url : '';
}

/** A member that changes nothing: null, false, or empty. */
function isNothing(value: unknown): boolean {
  return (
    value === null || value === false || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
  );
}
