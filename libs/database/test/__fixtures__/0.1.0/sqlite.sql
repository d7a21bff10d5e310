CREATE TABLE account_grants (
      account_id text not null,
      origin text not null,
      version bigint not null,
      tokens text,
      key_id text,
      problem text,
      updated_at_ms bigint not null,
      fence bigint not null default 0,
      locked_by text,
      locked_until_ms bigint,
      constraint account_grants_key primary key (account_id, origin)
    );
CREATE TABLE accounts (
      account_id text primary key not null,
      pool text not null,
      name text not null,
      models text,
      max_concurrency bigint,
      credential_kind text not null,
      credential text not null,
      key_id text not null,
      state text not null,
      created_at_ms bigint not null,
      updated_at_ms bigint not null
    );
CREATE TABLE audit_log (
      audit_id text primary key not null,
      at_ms bigint not null,
      action text not null,
      subject text not null,
      details text not null
    );
CREATE TABLE dead_letters (
      dead_letter_id text primary key not null,
      received_at_ms bigint not null,
      reason text not null,
      payload text not null
    );
CREATE TABLE "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
CREATE TABLE "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
CREATE TABLE request_log (
      request_id text  not null,
      local_day text  not null,
      token_id text not null,
      received_at_ms bigint not null,
      ending bigint not null,
      moved bigint not null,
      slow bigint not null,
      models text not null,
      entry text not null,
      primary key (local_day, request_id)
    ) without rowid;
CREATE TABLE sequences (name text primary key not null, last_value bigint not null);
CREATE TABLE tokens (
      token_id text primary key not null,
      kind text not null,
      label text not null,
      requests_per_minute bigint,
      tokens_per_day bigint,
      hash_key_id text not null,
      token_hash text not null unique,
      created_at_ms bigint not null,
      revoked_at_ms bigint,
      change_sequence bigint not null default 0
    );
CREATE TABLE usage_daily (
      token_id text not null,
      local_day text not null,
      provider text not null,
      model text not null,
      requests bigint not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      constraint usage_daily_key primary key (token_id, local_day, provider, model)
    );
CREATE TABLE usage_events (
    request_id text  not null,
    token_id text not null,
    admitted_at_ms bigint not null,
    local_day text  not null,
    endpoint text not null,
    provider text not null,
    model text not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    estimated bigint not null,
    outcome text not null, primary key (local_day, request_id)) without rowid;
CREATE TABLE usage_retention (table_name text primary key not null, first_day text not null);
CREATE INDEX audit_log_by_subject on audit_log (subject, at_ms);
CREATE INDEX tokens_by_change_sequence on tokens (change_sequence);
CREATE INDEX usage_daily_by_day on usage_daily (local_day);
INSERT INTO accounts (account_id, pool, name, models, max_concurrency, credential_kind, credential, key_id, state, created_at_ms, updated_at_ms) VALUES ('responses/kept', 'responses', 'kept', null, null, 'bearer', 'v1.xO2TgEI7FfyGfVCQiy38oyzUyGOKrMKJSThnfybVWKiaQWGYW30NTUrPVoO0dLRERW6ebjw2ddXSkf003o0By4NXjgulvGKA51UZs3-DKw', 'k1', 'draining', 1795391698434, 1795391700193);
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('22fbc0be-f608-43cb-8641-ba3582c395df', 1795391692154, 'token.issued', 'b925ad4f-b54e-426b-bfea-867cdaa85f84', '{"kind":"service","label":"first token","requestsPerMinute":60,"tokensPerDay":1000000}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('25c7c11f-d818-4bed-9223-eaaa713d2c01', 1795391694683, 'token.issued', 'd4c5e016-3446-4a8b-a24a-90939af9d3a7', '{"kind":"service","label":"kept","requestsPerMinute":600,"tokensPerDay":1000000}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('92c9f78b-78a6-4c5d-8f20-abe0f3f97b0c', 1795391696674, 'token.issued', 'dad1eb36-32a3-4202-8c93-3c7ffd291fa0', '{"kind":"personal","label":"unused"}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('0ce2da11-eb3e-4608-a861-fb2e3439fbf8', 1795391698434, 'account.added', 'responses/kept', '{"credentialKind":"bearer"}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('590bb0e6-5c60-4c86-a753-3c30e908a614', 1795391700193, 'account.state_set', 'responses/kept', '{"state":"draining"}');
INSERT INTO kysely_migration (name, timestamp) VALUES ('20261120090000-tokens', '2026-11-22T23:54:49.524Z');
INSERT INTO kysely_migration (name, timestamp) VALUES ('20261120090100-usage', '2026-11-22T23:54:49.525Z');
INSERT INTO kysely_migration (name, timestamp) VALUES ('20261121090000-usage-by-day', '2026-11-22T23:54:49.527Z');
INSERT INTO kysely_migration (name, timestamp) VALUES ('20261121100000-accounts', '2026-11-22T23:54:49.528Z');
INSERT INTO kysely_migration (name, timestamp) VALUES ('20261122090000-request-log', '2026-11-22T23:54:49.529Z');
INSERT INTO kysely_migration_lock (id, is_locked) VALUES ('migration_lock', 0);
INSERT INTO request_log (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry) VALUES ('01a205af-3cfd-7cc1-9fd7-1b2342903f8c', '2026-11-23', 'd4c5e016-3446-4a8b-a24a-90939af9d3a7', 1795391700222, 2, 0, 0, '
gateway/sterk
gpt-5.5
', 'CiQwMWEyMDVhZi0zY2ZkLTdjYzEtOWZkNy0xYjIzNDI5MDNmOGMSCwjUgY7YBhCA5+1pGiRkNGM1ZTAxNi0zNDQ2LTRhOGItYTI0YS05MDkzOWFmOWQzYTciFC92MS9jaGF0L2NvbXBsZXRpb25zKg1nYXRld2F5L3N0ZXJrMm8KCXJlc3BvbnNlcxIQcmVzcG9uc2VzL3RlYW0tYhoHZ3B0LTUuNSIeaXQgaGFzIGFzIG11Y2ggdG8gc3BhcmUgYXMgYW55MeF6FK5HoUdAOQAAAAAAwEhAQfYoXI/CVVRASaRwPQrXc1RAUAFYyAFAAkjIAVoECAMYBWItCaRwPQrXY0ZAEZqZmZmZeUdAIQAAAAAAwEhAKfYoXI/CVVRAMcP1KFyP4lZA');
INSERT INTO request_log (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry) VALUES ('01a205af-3d6b-7dd5-b016-3e223544c968', '2026-11-23', 'd4c5e016-3446-4a8b-a24a-90939af9d3a7', 1795391700331, 2, 0, 0, '
gateway/claude
claude-sonnet-5
', 'CiQwMWEyMDVhZi0zZDZiLTdkZDUtYjAxNi0zZTIyMzU0NGM5NjgSDAjUgY7YBhDA0eqdARokZDRjNWUwMTYtMzQ0Ni00YThiLWEyNGEtOTA5MzlhZjlkM2E3IhQvdjEvY2hhdC9jb21wbGV0aW9ucyoOZ2F0ZXdheS9jbGF1ZGUydQoIbWVzc2FnZXMSD21lc3NhZ2VzL3RlYW0tYhoPY2xhdWRlLXNvbm5ldC01Ih5pdCBoYXMgYXMgbXVjaCB0byBzcGFyZSBhcyBhbnkxFK5H4XoU8j85j8L1KFyP9j9BZmZmZmYGQkBJUrgehesRQkBQAVjIAUACSMgBWgQIExgFYi0JXI/C9Shc5z8RSOF6FK5H8T8hj8L1KFyP9j8pZmZmZmYGQkAx16NwPQrXQ0A=');
INSERT INTO request_log (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry) VALUES ('01a205af-3da3-73b7-bad5-ba5a17a89e96', '2026-11-23', 'd4c5e016-3446-4a8b-a24a-90939af9d3a7', 1795391700387, 3, 0, 0, '
gateway/none
', 'CiQwMWEyMDVhZi0zZGEzLTczYjctYmFkNS1iYTVhMTdhODllOTYSDAjUgY7YBhDAzcS4ARokZDRjNWUwMTYtMzQ0Ni00YThiLWEyNGEtOTA5MzlhZjlkM2E3IhQvdjEvY2hhdC9jb21wbGV0aW9ucyoMZ2F0ZXdheS9ub25lOhQIAyHsUbgehev1PykUrkfhehT+P0ADSJQDUg9tb2RlbF9ub3RfZm91bmRiGwnhehSuR+HqPxHNzMzMzMz0PzGuR+F6FK4HQA==');
INSERT INTO tokens (token_id, kind, label, requests_per_minute, tokens_per_day, hash_key_id, token_hash, created_at_ms, revoked_at_ms, change_sequence) VALUES ('b925ad4f-b54e-426b-bfea-867cdaa85f84', 'service', 'first token', 60, 1000000, '93213019c3a8', '6bc04fb28396a806d8431e9b36278d5296fb2d6257ac90bf2a5c25c935b4f35c', 1795391692154, null, 0);
INSERT INTO tokens (token_id, kind, label, requests_per_minute, tokens_per_day, hash_key_id, token_hash, created_at_ms, revoked_at_ms, change_sequence) VALUES ('d4c5e016-3446-4a8b-a24a-90939af9d3a7', 'service', 'kept', 600, 1000000, '93213019c3a8', '3af2a78a1178e0830a7e685ac1cc2964575e578b7f632ab703c6451dd05c8a5a', 1795391694683, null, 0);
INSERT INTO tokens (token_id, kind, label, requests_per_minute, tokens_per_day, hash_key_id, token_hash, created_at_ms, revoked_at_ms, change_sequence) VALUES ('dad1eb36-32a3-4202-8c93-3c7ffd291fa0', 'personal', 'unused', null, null, '93213019c3a8', '78005a18805c86c64768441e1bdb5baacfbab02c1af7b5073045b0f82e76444b', 1795391696674, null, 0);
INSERT INTO usage_daily (token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens) VALUES ('d4c5e016-3446-4a8b-a24a-90939af9d3a7', '2026-11-23', 'provider_a', 'gpt-5.5', 1, 3, 0, 5);
INSERT INTO usage_daily (token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens) VALUES ('d4c5e016-3446-4a8b-a24a-90939af9d3a7', '2026-11-23', 'provider_b', 'claude-sonnet-5', 1, 19, 0, 5);
INSERT INTO usage_events (request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome) VALUES ('01a205af-3cfd-7cc1-9fd7-1b2342903f8c', 'd4c5e016-3446-4a8b-a24a-90939af9d3a7', 1795391700240, '2026-11-23', '/v1/chat/completions', 'provider_a', 'gpt-5.5', 3, 0, 5, 0, 0, 'completed');
INSERT INTO usage_events (request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome) VALUES ('01a205af-3d6b-7dd5-b016-3e223544c968', 'd4c5e016-3446-4a8b-a24a-90939af9d3a7', 1795391700331, '2026-11-23', '/v1/chat/completions', 'provider_b', 'claude-sonnet-5', 19, 0, 5, 0, 0, 'completed');
INSERT INTO usage_retention (table_name, first_day) VALUES ('usage_events', '2026-08-25');
INSERT INTO usage_retention (table_name, first_day) VALUES ('request_log', '2026-11-16');
