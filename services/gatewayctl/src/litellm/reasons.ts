type Path = readonly PropertyKey[];

/** Why a part of a LiteLLM file is left, and what to do instead. */
export function reasonOf(path: Path): string {
  const [section = ''] = path;
  const key = String(path.at(-1) ?? '');
  if (section === 'model_list') return entryOf(ofModel, key) ?? ofCosts(key) ?? noSetting;
  const known = entryOf(ofSections, String(section));
  return (typeof known === 'object' ? entryOf(known, String(path[1] ?? '')) : known) ?? noSetting;
}

/** Whether the members of a map have reasons of their own. */
export function hasReasonsInside(path: Path): boolean {
  const [section] = path;
  if (section === 'model_list')
    return path.length === 1 || path.at(-1) === 'litellm_params' || path.at(-1) === 'model_info';
  return path.length === 1 && typeof entryOf(ofSections, String(section)) === 'object';
}

const noSetting = 'The gateway has no such setting.';

const followsProviders =
  'The gateway follows the limits that providers report. Limits of your own belong to tokens and groups (--rpm, --tpd).';
const ofRequests = 'The gateway adds no parameters to requests: send it from the clients.';
const timeouts =
  'Set UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS and UPSTREAM_IDLE_TIMEOUT_SECONDS, which apply to all accounts.';
const watching = 'The gateway has metrics, traces and a request log: see docs/operate/watching.md.';
const cloud = 'The gateway does not sign requests with credentials of a cloud.';
const caching = 'The gateway does not cache answers. Prompt caches of providers work.';
const otherFallbacks =
  'A class falls back when a candidate is limited or fails, not because of the content of a request. Add the models as candidates of a class if that is wanted.';
const signIn =
  'People sign in with OpenID Connect, operators with tokens: see docs/operate/people.md and operators.md.';
const otherApi = 'The gateway has no such endpoint.';

/** By the last key, in an entry of `model_list`. */
const ofModel: Readonly<Record<string, string>> = {
  rpm: followsProviders,
  tpm: followsProviders,
  weight: 'The gateway prefers the account with the most spare capacity.',
  timeout: timeouts,
  stream_timeout: timeouts,
  max_retries: 'One number applies to all models: settings.max_error_attempts.',
  num_retries: 'One number applies to all models: settings.max_error_attempts.',
  cooldown_time: 'One length applies to all accounts: settings.error_cooldown_seconds.',
  organization: 'The gateway sends no such header. Use a key of that organization or project.',
  extra_headers: 'The gateway sends no headers of its own to providers.',
  headers: 'The gateway sends no headers of its own to providers.',
  extra_body: ofRequests,
  temperature: ofRequests,
  top_p: ofRequests,
  max_tokens: ofRequests,
  max_completion_tokens: ofRequests,
  stop: ofRequests,
  thinking: ofRequests,
  drop_params: 'Not needed: chat completions ignore parameters that the model does not support.',
  api_version: 'Not needed: the v1 API of Azure has no version in its address.',
  max_budget: 'Accounts have no budget. Groups of tokens do: gatewayctl group create --budget.',
  budget_duration: 'Accounts have no budget. Groups of tokens do: gatewayctl group create --budget.',
  aws_access_key_id: cloud,
  aws_secret_access_key: cloud,
  aws_region_name: cloud,
  vertex_project: cloud,
  vertex_location: cloud,
  vertex_credentials: cloud,
  mock_response: 'The gateway answers nothing itself. Use a simulated pool for tests.',
  mock_timeout: 'The gateway answers nothing itself. Use a simulated pool for tests.',
  id: 'Accounts have names of their own.',
  mode: 'Not needed: the gateway serves conversations only.',
  base_model: 'Only prices need it: write a price for the model.',
  access_groups: 'Restrict tokens and groups with --models instead.',
  health_check_timeout: 'The gateway learns from requests, and reads model lists.',
  guardrails: otherApi,
};

function ofCosts(key: string): string | undefined {
  if (/_cost_|_cost$/.test(key)) return 'The gateway has no such price: it prices tokens of input, caches and output.';
  return /^(supports_|max_(input|output)_tokens$)/.test(key)
    ? 'Not needed: providers say it, or see "What models support" in docs/reference/configuration.md.'
    : undefined;
}

/** By the first key, then by the second. A text is the reason for a whole section. */
const ofSections: Readonly<Record<string, string | Readonly<Record<string, string>>>> = {
  router_settings: {
    routing_strategy:
      'The gateway prefers the account with the most spare capacity, and keeps sessions on their account.',
    allowed_fails: 'The gateway looks at the share of failed attempts: settings.error_threshold.',
    allowed_fails_policy: 'The gateway looks at the share of failed attempts: settings.error_threshold.',
    retry_policy: 'The gateway decides by the kind of the error: see docs/reference/provider-errors.md.',
    retry_after: 'The gateway follows the retry-after of providers.',
    timeout: timeouts,
    stream_timeout: timeouts,
    default_fallbacks: otherFallbacks,
    context_window_fallbacks: otherFallbacks,
    content_policy_fallbacks: otherFallbacks,
    enable_pre_call_checks: 'Not needed: the provider refuses a request that is too long, and clients get its error.',
    redis_host: 'Set REDIS_URL.',
    redis_port: 'Set REDIS_URL.',
    redis_password: 'Set REDIS_URL.',
    redis_url: 'Set REDIS_URL.',
    disable_cooldowns: 'Accounts that fail always pause: see docs/operate/pools.md.',
    enable_tag_filtering: 'Tags are labels of accounts here. Restrict tokens or groups with --account-labels.',
    cache_responses: caching,
  },
  litellm_settings: {
    request_timeout: timeouts,
    default_fallbacks: otherFallbacks,
    context_window_fallbacks: otherFallbacks,
    content_policy_fallbacks: otherFallbacks,
    allowed_fails: 'The gateway looks at the share of failed attempts: settings.error_threshold.',
    drop_params: 'Not needed: chat completions ignore parameters that the model does not support.',
    modify_params: 'The gateway translates chat completions by itself: see docs/reference/formats.md.',
    max_budget: 'Create a group with a budget, and issue the tokens in it: gatewayctl group create --budget.',
    budget_duration: 'Create a group with a budget, and issue the tokens in it: gatewayctl group create --budget.',
    default_team_settings:
      'The gateway sends no logs to other services by team. Use groups, and gatewayctl usage export.',
    default_internal_user_params: 'Create a group with the limits for people: gatewayctl group create.',
    default_team_params: 'Give limits to each group: gatewayctl group create.',
    default_key_generate_params: 'Give limits to each token: gatewayctl token issue.',
    upperbound_key_generate_params: 'PEOPLE_TOKEN_MAX_DAYS bounds the tokens that people issue.',
    cache: caching,
    cache_params: caching,
    callbacks: watching,
    success_callback: watching,
    failure_callback: watching,
    service_callbacks: watching,
    set_verbose: 'Set LOG_LEVEL.',
    json_logs: 'Not needed: logs are JSON.',
    turn_off_message_logging: 'Not needed: the gateway never logs messages.',
    redact_user_api_key_info: 'Not needed: the gateway never logs tokens.',
    telemetry: 'Not needed: the gateway sends no telemetry home.',
    ssl_verify: 'Set NODE_EXTRA_CA_CERTS for a certificate authority of your own.',
  },
  general_settings: {
    master_key:
      'Operators have tokens of their own: the first start prints one, gatewayctl operator create makes more. Clients need new tokens: gatewayctl token issue.',
    database_url: 'Set DATABASE_URL to a new database. The tables of LiteLLM are not read.',
    store_model_in_db:
      'Models in the database of LiteLLM are not in this file. Add their accounts with gatewayctl account add.',
    max_parallel_requests: 'Set max_concurrency of the accounts.',
    global_max_parallel_requests: 'Set max_concurrency of the accounts.',
    alerting: 'Add receivers under alerts in gateway.yaml: see docs/operate/alerts.md.',
    alerting_threshold: 'Add receivers under alerts in gateway.yaml: see docs/operate/alerts.md.',
    alert_types: 'Add receivers under alerts in gateway.yaml: see docs/operate/alerts.md.',
    slack_webhook_url: 'Add receivers under alerts in gateway.yaml: see docs/operate/alerts.md.',
    alert_to_webhook_url: 'Add receivers under alerts in gateway.yaml: see docs/operate/alerts.md.',
    custom_auth: 'The gateway runs no code of its users.',
    enable_jwt_auth: signIn,
    litellm_jwtauth: signIn,
    ui_access_mode: signIn,
    pass_through_endpoints: otherApi,
    background_health_checks: 'Not needed: the gateway learns from requests, and reads model lists.',
    health_check_interval: 'Set settings.model_list_refresh_seconds.',
    store_prompts_in_spend_logs: 'The gateway never stores prompts.',
    disable_spend_logs: 'Set REQUEST_LOG_RETENTION_DAYS and USAGE_EVENT_RETENTION_DAYS.',
    maximum_spend_logs_retention_period: 'Set REQUEST_LOG_RETENTION_DAYS and USAGE_EVENT_RETENTION_DAYS.',
  },
  environment_variables: 'Set the variable for the gateway if it needs it. It never takes secrets from a LiteLLM file.',
  include: 'Included files are not read: put their content into one file, and import that.',
  guardrails: 'The gateway does not inspect the content of requests.',
  prompts: 'The gateway stores no prompts.',
  mcp_servers: 'The gateway does not call tools.',
  mcp_tools: 'The gateway does not call tools.',
  files_settings: otherApi,
  finetune_settings: otherApi,
  vector_store_registry: otherApi,
  search_tools: 'The gateway does not call tools.',
  callback_settings: watching,
  credential_list: 'No model that can be taken uses this credential.',
};

/** Keys of the input may be names of members that every object has. */
function entryOf<T>(entries: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(entries, key) ? entries[key] : undefined;
}
