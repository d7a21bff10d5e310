CREATE TABLE account_grants (
    account_id text NOT NULL,
    origin text NOT NULL,
    version bigint NOT NULL,
    tokens text,
    key_id text,
    problem text,
    updated_at_ms bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    locked_by text,
    locked_until_ms bigint
);
CREATE TABLE accounts (
    account_id text NOT NULL,
    pool text NOT NULL,
    name text NOT NULL,
    models text,
    max_concurrency bigint,
    credential_kind text NOT NULL,
    credential text NOT NULL,
    key_id text NOT NULL,
    state text NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL
);
CREATE TABLE audit_log (
    audit_id text NOT NULL,
    at_ms bigint NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    details text NOT NULL
);
CREATE TABLE dead_letters (
    dead_letter_id text NOT NULL,
    received_at_ms bigint NOT NULL,
    reason text NOT NULL,
    payload text NOT NULL
);
CREATE TABLE kysely_migration (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);
CREATE TABLE kysely_migration_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
);
CREATE TABLE request_log (
    request_id text NOT NULL COLLATE pg_catalog."C",
    local_day text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    received_at_ms bigint NOT NULL,
    ending bigint NOT NULL,
    moved bigint NOT NULL,
    slow bigint NOT NULL,
    models text NOT NULL,
    entry text NOT NULL
)
PARTITION BY LIST (local_day);
CREATE TABLE request_log_2026_11_23 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    local_day text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    received_at_ms bigint NOT NULL,
    ending bigint NOT NULL,
    moved bigint NOT NULL,
    slow bigint NOT NULL,
    models text NOT NULL,
    entry text NOT NULL
);
CREATE TABLE request_log_2026_11_24 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    local_day text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    received_at_ms bigint NOT NULL,
    ending bigint NOT NULL,
    moved bigint NOT NULL,
    slow bigint NOT NULL,
    models text NOT NULL,
    entry text NOT NULL
);
CREATE TABLE request_log_2026_11_25 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    local_day text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    received_at_ms bigint NOT NULL,
    ending bigint NOT NULL,
    moved bigint NOT NULL,
    slow bigint NOT NULL,
    models text NOT NULL,
    entry text NOT NULL
);
CREATE TABLE request_log_2026_11_26 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    local_day text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    received_at_ms bigint NOT NULL,
    ending bigint NOT NULL,
    moved bigint NOT NULL,
    slow bigint NOT NULL,
    models text NOT NULL,
    entry text NOT NULL
);
CREATE TABLE sequences (
    name text NOT NULL,
    last_value bigint NOT NULL
);
CREATE TABLE tokens (
    token_id text NOT NULL,
    kind text NOT NULL,
    label text NOT NULL,
    requests_per_minute bigint,
    tokens_per_day bigint,
    hash_key_id text NOT NULL,
    token_hash text NOT NULL,
    created_at_ms bigint NOT NULL,
    revoked_at_ms bigint,
    change_sequence bigint DEFAULT 0 NOT NULL
);
CREATE TABLE usage_daily (
    token_id text NOT NULL,
    local_day text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    requests bigint NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL
);
CREATE TABLE usage_events (
    request_id text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    admitted_at_ms bigint NOT NULL,
    local_day text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    estimated bigint NOT NULL,
    outcome text NOT NULL
)
PARTITION BY LIST (local_day);
CREATE TABLE usage_events_2026_11_23 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    admitted_at_ms bigint NOT NULL,
    local_day text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    estimated bigint NOT NULL,
    outcome text NOT NULL
);
CREATE TABLE usage_events_2026_11_24 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    admitted_at_ms bigint NOT NULL,
    local_day text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    estimated bigint NOT NULL,
    outcome text NOT NULL
);
CREATE TABLE usage_events_2026_11_25 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    admitted_at_ms bigint NOT NULL,
    local_day text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    estimated bigint NOT NULL,
    outcome text NOT NULL
);
CREATE TABLE usage_events_2026_11_26 (
    request_id text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL,
    admitted_at_ms bigint NOT NULL,
    local_day text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    estimated bigint NOT NULL,
    outcome text NOT NULL
);
CREATE TABLE usage_retention (
    table_name text NOT NULL,
    first_day text NOT NULL
);
ALTER TABLE ONLY request_log ATTACH PARTITION request_log_2026_11_23 FOR VALUES IN ('2026-11-23');
ALTER TABLE ONLY request_log ATTACH PARTITION request_log_2026_11_24 FOR VALUES IN ('2026-11-24');
ALTER TABLE ONLY request_log ATTACH PARTITION request_log_2026_11_25 FOR VALUES IN ('2026-11-25');
ALTER TABLE ONLY request_log ATTACH PARTITION request_log_2026_11_26 FOR VALUES IN ('2026-11-26');
ALTER TABLE ONLY usage_events ATTACH PARTITION usage_events_2026_11_23 FOR VALUES IN ('2026-11-23');
ALTER TABLE ONLY usage_events ATTACH PARTITION usage_events_2026_11_24 FOR VALUES IN ('2026-11-24');
ALTER TABLE ONLY usage_events ATTACH PARTITION usage_events_2026_11_25 FOR VALUES IN ('2026-11-25');
ALTER TABLE ONLY usage_events ATTACH PARTITION usage_events_2026_11_26 FOR VALUES IN ('2026-11-26');
INSERT INTO accounts (account_id, pool, name, models, max_concurrency, credential_kind, credential, key_id, state, created_at_ms, updated_at_ms) VALUES ('responses/kept', 'responses', 'kept', NULL, NULL, 'bearer', 'v1.z0_RbtegJY2FdPkCQRnmybOAeerRRCDOjLhC2RZ2w58y6tWHFSrVnXAx0UvNGfe70Krd052vSGk5PS3DIVDmSo3V7Hb3Bp6AH6FjavO-Mg', 'k1', 'draining', 1795391713428, 1795391714596);
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('4c5bd231-dcb4-409b-9a36-b8d7fc6f00b2', 1795391710487, 'token.issued', '70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', '{"kind":"service","label":"kept","requestsPerMinute":600,"tokensPerDay":1000000}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('4ae2ffbd-907f-44b3-af6c-a04524f88477', 1795391712034, 'token.issued', 'a54692f4-64fa-4b01-9abb-3103b294db55', '{"kind":"personal","label":"unused"}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('01b96321-4fef-4d39-9580-a4cc64803dbc', 1795391713428, 'account.added', 'responses/kept', '{"credentialKind":"bearer"}');
INSERT INTO audit_log (audit_id, at_ms, action, subject, details) VALUES ('f7fee690-aaaa-4b8e-ace3-8da853e8c431', 1795391714596, 'account.state_set', 'responses/kept', '{"state":"draining"}');
INSERT INTO kysely_migration (name, "timestamp") VALUES ('20261120090000-tokens', '2026-11-22T23:55:05.674Z');
INSERT INTO kysely_migration (name, "timestamp") VALUES ('20261120090100-usage', '2026-11-22T23:55:05.680Z');
INSERT INTO kysely_migration (name, "timestamp") VALUES ('20261121090000-usage-by-day', '2026-11-22T23:55:05.707Z');
INSERT INTO kysely_migration (name, "timestamp") VALUES ('20261121100000-accounts', '2026-11-22T23:55:05.710Z');
INSERT INTO kysely_migration (name, "timestamp") VALUES ('20261122090000-request-log', '2026-11-22T23:55:05.712Z');
INSERT INTO kysely_migration_lock (id, is_locked) VALUES ('migration_lock', 0);
INSERT INTO request_log (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry) VALUES ('01a205af-753e-7d2d-a44a-65c73769c75f', '2026-11-23', '70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', 1795391714623, 2, 0, 0, '
gateway/sterk
gpt-5.5
', 'CiQwMWEyMDVhZi03NTNlLTdkMmQtYTQ0YS02NWM3Mzc2OWM3NWYSDAjigY7YBhDA84ipAhokNzBlZGVkNGUtM2MzMi00ZWMzLWI4ZTgtM2JmYmUwMTA2ZWVjIhQvdjEvY2hhdC9jb21wbGV0aW9ucyoNZ2F0ZXdheS9zdGVyazJtCglyZXNwb25zZXMSDnJlc3BvbnNlcy9rZXB0GgdncHQtNS41Ih5pdCBoYXMgYXMgbXVjaCB0byBzcGFyZSBhcyBhbnkxexSuR+H6MEA5AAAAAABANUBBUrgehevxR0BJcT0K16MwSEBQAVjIAUACSMgBWgQIAxgFYi0J7FG4HoVrLUAR9ihcj8K1MEAhAAAAAABANUApUrgehevxR0AxmpmZmZlZTkA=');
INSERT INTO request_log (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry) VALUES ('01a205af-757e-71e0-a565-2258cfc18da2', '2026-11-23', '70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', 1795391714686, 2, 0, 0, '
gateway/claude
claude-sonnet-5
', 'CiQwMWEyMDVhZi03NTdlLTcxZTAtYTU2NS0yMjU4Y2ZjMThkYTISDAjigY7YBhCAj47HAhokNzBlZGVkNGUtM2MzMi00ZWMzLWI4ZTgtM2JmYmUwMTA2ZWVjIhQvdjEvY2hhdC9jb21wbGV0aW9ucyoOZ2F0ZXdheS9jbGF1ZGUydQoIbWVzc2FnZXMSD21lc3NhZ2VzL3RlYW0tYRoPY2xhdWRlLXNvbm5ldC01Ih5pdCBoYXMgYXMgbXVjaCB0byBzcGFyZSBhcyBhbnkx9ihcj8L19D854XoUrkfh+j9BrkfhehSuHEBJ7FG4HoXrHEBQAVjIAUACSMgBWgQIExgFYi0JKVyPwvUo7D8RUrgehetR9D8h4XoUrkfh+j8prkfhehSuHEAxKVyPwvUoL0A=');
INSERT INTO request_log (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry) VALUES ('01a205af-758f-78cf-b092-928c7f3f1449', '2026-11-23', '70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', 1795391714703, 3, 0, 0, '
gateway/none
', 'CiQwMWEyMDVhZi03NThmLTc4Y2YtYjA5Mi05MjhjN2YzZjE0NDkSDAjigY7YBhDA25vPAhokNzBlZGVkNGUtM2MzMi00ZWMzLWI4ZTgtM2JmYmUwMTA2ZWVjIhQvdjEvY2hhdC9jb21wbGV0aW9ucyoMZ2F0ZXdheS9ub25lOhQIAyGkcD0K16PoPynD9Shcj8LxP0ADSJQDUg9tb2RlbF9ub3RfZm91bmRiGwm4HoXrUbjePxGuR+F6FK7nPzE9CtejcD0CQA==');
INSERT INTO tokens (token_id, kind, label, requests_per_minute, tokens_per_day, hash_key_id, token_hash, created_at_ms, revoked_at_ms, change_sequence) VALUES ('70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', 'service', 'kept', 600, 1000000, '93213019c3a8', '08b3992e83c20b17baeeb7b4ad3916c6dce21d8a56eb1aa04190b14f8984076c', 1795391710487, NULL, 0);
INSERT INTO tokens (token_id, kind, label, requests_per_minute, tokens_per_day, hash_key_id, token_hash, created_at_ms, revoked_at_ms, change_sequence) VALUES ('a54692f4-64fa-4b01-9abb-3103b294db55', 'personal', 'unused', NULL, NULL, '93213019c3a8', 'ab850646226876e55e50715d7f94f58c3f9c21935553d3ca33df0d80760fa1e7', 1795391712034, NULL, 0);
INSERT INTO usage_daily (token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens) VALUES ('70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', '2026-11-23', 'provider_a', 'gpt-5.5', 1, 3, 0, 5);
INSERT INTO usage_daily (token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens) VALUES ('70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', '2026-11-23', 'provider_b', 'claude-sonnet-5', 1, 19, 0, 5);
INSERT INTO usage_events (request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome) VALUES ('01a205af-753e-7d2d-a44a-65c73769c75f', '70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', 1795391714627, '2026-11-23', '/v1/chat/completions', 'provider_a', 'gpt-5.5', 3, 0, 5, 0, 0, 'completed');
INSERT INTO usage_events (request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome) VALUES ('01a205af-757e-71e0-a565-2258cfc18da2', '70eded4e-3c32-4ec3-b8e8-3bfbe0106eec', 1795391714686, '2026-11-23', '/v1/chat/completions', 'provider_b', 'claude-sonnet-5', 19, 0, 5, 0, 0, 'completed');
INSERT INTO usage_retention (table_name, first_day) VALUES ('usage_events', '2026-08-25');
INSERT INTO usage_retention (table_name, first_day) VALUES ('request_log', '2026-11-16');
ALTER TABLE ONLY account_grants
    ADD CONSTRAINT account_grants_key PRIMARY KEY (account_id, origin);
ALTER TABLE ONLY accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (audit_id);
ALTER TABLE ONLY dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (dead_letter_id);
ALTER TABLE ONLY kysely_migration_lock
    ADD CONSTRAINT kysely_migration_lock_pkey PRIMARY KEY (id);
ALTER TABLE ONLY kysely_migration
    ADD CONSTRAINT kysely_migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY request_log
    ADD CONSTRAINT request_log_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY request_log_2026_11_23
    ADD CONSTRAINT request_log_2026_11_23_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY request_log_2026_11_24
    ADD CONSTRAINT request_log_2026_11_24_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY request_log_2026_11_25
    ADD CONSTRAINT request_log_2026_11_25_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY request_log_2026_11_26
    ADD CONSTRAINT request_log_2026_11_26_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY sequences
    ADD CONSTRAINT sequences_pkey PRIMARY KEY (name);
ALTER TABLE ONLY tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (token_id);
ALTER TABLE ONLY tokens
    ADD CONSTRAINT tokens_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY usage_daily
    ADD CONSTRAINT usage_daily_key PRIMARY KEY (token_id, local_day, provider, model);
ALTER TABLE ONLY usage_events
    ADD CONSTRAINT usage_events_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY usage_events_2026_11_23
    ADD CONSTRAINT usage_events_2026_11_23_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY usage_events_2026_11_24
    ADD CONSTRAINT usage_events_2026_11_24_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY usage_events_2026_11_25
    ADD CONSTRAINT usage_events_2026_11_25_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY usage_events_2026_11_26
    ADD CONSTRAINT usage_events_2026_11_26_pkey PRIMARY KEY (local_day, request_id);
ALTER TABLE ONLY usage_retention
    ADD CONSTRAINT usage_retention_pkey PRIMARY KEY (table_name);
CREATE INDEX audit_log_by_subject ON audit_log USING btree (subject, at_ms);
CREATE INDEX tokens_by_change_sequence ON tokens USING btree (change_sequence);
CREATE INDEX usage_daily_by_day ON usage_daily USING btree (local_day);
ALTER INDEX request_log_pkey ATTACH PARTITION request_log_2026_11_23_pkey;
ALTER INDEX request_log_pkey ATTACH PARTITION request_log_2026_11_24_pkey;
ALTER INDEX request_log_pkey ATTACH PARTITION request_log_2026_11_25_pkey;
ALTER INDEX request_log_pkey ATTACH PARTITION request_log_2026_11_26_pkey;
ALTER INDEX usage_events_pkey ATTACH PARTITION usage_events_2026_11_23_pkey;
ALTER INDEX usage_events_pkey ATTACH PARTITION usage_events_2026_11_24_pkey;
ALTER INDEX usage_events_pkey ATTACH PARTITION usage_events_2026_11_25_pkey;
ALTER INDEX usage_events_pkey ATTACH PARTITION usage_events_2026_11_26_pkey;
