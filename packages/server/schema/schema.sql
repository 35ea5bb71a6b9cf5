-- The schema as it exists in a database, for reference. Printed by test/postgres/schema.test.ts; not applied.

create table posthorn.audit_chains (
  organization_id text collate "C" not null,
  length bigint not null,
  hash bytea not null,
  last_at timestamp(3) with time zone not null,
  dropped bigint not null default 0,
  dropped_hash bytea not null default '\x'::bytea,
  constraint audit_chains_pkey PRIMARY KEY (organization_id)
);

create table posthorn.audit_log (
  organization_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  id text collate "C" not null,
  position bigint not null,
  workspace_id text collate "C",
  actor_type text collate "C" not null,
  actor_id text collate "C" not null,
  action text collate "C" not null,
  target_type text collate "C" not null,
  target_id text collate "C" not null,
  request_id text,
  source_address text,
  changes json not null,
  hash bytea not null,
  constraint audit_log_pkey PRIMARY KEY (organization_id, created_at, id)
) partition by RANGE (created_at);

create table posthorn.backlog (
  organization_id text collate "C" not null,
  webhook_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  head text collate "C" not null,
  first integer not null,
  leased_by integer,
  event_base bigint not null,
  base bigint not null,
  ordinals integer[] not null,
  bytes bigint not null,
  constraint backlog_pkey PRIMARY KEY (organization_id, webhook_id, created_at, head, first)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000);

create table posthorn.catalogue (
  id uuid not null default gen_random_uuid(),
  builtin boolean not null default true,
  revision integer not null default 1,
  constraint catalogue_pkey PRIMARY KEY (id)
);

create table posthorn.catalogue_files (
  node uuid not null,
  alive_until timestamp with time zone not null,
  constraint catalogue_files_pkey PRIMARY KEY (node)
);

create table posthorn.cell (
  name text collate "C" not null,
  keys bytea[] not null default '{}'::bytea[],
  id uuid not null default gen_random_uuid(),
  constraint cell_name_check CHECK ((name ~ '^[a-z0-9]{1,16}$'::text))
);

create table posthorn.deliveries (
  organization_id text collate "C" not null,
  webhook_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  id text collate "C" not null,
  event_id text collate "C" not null,
  event_type text collate "C" not null,
  event_created_at timestamp(3) with time zone not null,
  status text not null default 'pending'::text,
  attempts smallint not null default 0,
  due_at timestamp(3) with time zone not null,
  leased_by integer,
  attempted_at timestamp(3) with time zone,
  http_status smallint,
  error text,
  duration_ms integer,
  response text,
  evidence jsonb,
  earlier_attempts jsonb,
  bytes integer,
  resume_at timestamp(3) with time zone,
  extra_attempts smallint not null default 0,
  constraint deliveries_attempts_check CHECK (((attempts >= 0) AND (attempts <= 120))) NOT VALID,
  constraint deliveries_pkey PRIMARY KEY (organization_id, webhook_id, created_at, id),
  constraint deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'success'::text, 'failed'::text, 'cancelled'::text])))
) partition by RANGE (created_at);

create table posthorn.delivery_counts (
  organization_id text collate "C" not null,
  scope text collate "C" not null,
  step smallint not null,
  at timestamp(3) with time zone not null,
  part integer not null,
  delivered integer not null,
  failed_attempts integer not null,
  given_up integer not null,
  latencies integer[] not null,
  constraint delivery_counts_pkey PRIMARY KEY (organization_id, scope, step, at, part),
  constraint delivery_counts_step_check CHECK ((step = ANY (ARRAY[1, 60])))
) partition by RANGE (at);

create table posthorn.event_count_progress (
  counted_until timestamp with time zone not null
);

create table posthorn.event_counts (
  organization_id text collate "C" not null,
  scope text collate "C" not null,
  step smallint not null,
  at timestamp(3) with time zone not null,
  type text collate "C" not null,
  events integer not null,
  constraint event_counts_pkey PRIMARY KEY (organization_id, scope, step, at, type),
  constraint event_counts_step_check CHECK ((step = ANY (ARRAY[1, 60, 1440])))
) partition by RANGE (at);

create table posthorn.event_keys (
  organization_id text collate "C" not null,
  key text collate "C" not null,
  event_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  constraint event_keys_pkey PRIMARY KEY (organization_id, key),
  constraint idempotency_key_has_1_to_255_characters CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

create table posthorn.event_types (
  type text collate "C" not null,
  version integer not null,
  in_use boolean not null,
  own boolean not null,
  position integer not null,
  description text not null,
  schema json not null,
  sample json not null,
  constraint event_types_pkey PRIMARY KEY (type)
);

create table posthorn.events (
  organization_id text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  id text collate "C" not null,
  type text collate "C" not null,
  workspace_id text collate "C",
  actor_type text collate "C" not null,
  actor_id text collate "C" not null,
  subject_type text collate "C" not null,
  subject_id text collate "C" not null,
  payload json not null,
  bytes integer not null,
  constraint events_pkey PRIMARY KEY (organization_id, created_at, id)
) partition by RANGE (created_at);

create table posthorn.handoffs (
  head text collate "C" not null,
  created_at timestamp(3) with time zone not null,
  leased_by integer not null,
  event_base bigint not null,
  bytes bigint not null,
  organization_ids text[] collate "C" not null,
  webhook_ids text[] collate "C" not null,
  bases bigint[] not null,
  sizes integer[] not null,
  ordinals integer[] not null,
  constraint handoffs_pkey PRIMARY KEY (head)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000);

create table posthorn.lifecycle_moves (
  kind text collate "C" not null,
  move text collate "C" not null,
  from_status text collate "C",
  to_status text collate "C" not null,
  constraint lifecycle_moves_kind_move_from_status_key UNIQUE NULLS NOT DISTINCT (kind, move, from_status)
);

create table posthorn.nodes (
  id integer not null generated always as identity,
  alive_until timestamp with time zone not null,
  process uuid not null default gen_random_uuid(),
  constraint nodes_pkey PRIMARY KEY (id)
) with (fillfactor=20, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);

create table posthorn.organizations (
  organization_id text collate "C" not null,
  name text,
  created_at timestamp(3) with time zone not null default clock_timestamp(),
  constraint organizations_pkey PRIMARY KEY (organization_id)
);

create table posthorn.relocations (
  organization_id text collate "C" not null,
  state text not null,
  cell text collate "C" not null,
  stopped_at timestamp with time zone,
  cell_id uuid,
  move uuid not null default gen_random_uuid(),
  since timestamp with time zone not null default clock_timestamp(),
  constraint relocations_pkey PRIMARY KEY (organization_id),
  constraint relocations_state_check CHECK ((state = ANY (ARRAY['here'::text, 'stopping'::text, 'stopped'::text, 'moved'::text, 'forgotten'::text, 'arriving'::text])))
);

create table posthorn.replays (
  organization_id text collate "C" not null,
  webhook_id text collate "C" not null,
  id text collate "C" not null,
  status text not null default 'running'::text,
  from_at timestamp(3) with time zone not null,
  to_at timestamp(3) with time zone not null,
  event_types text[],
  only_failed boolean not null,
  total integer not null,
  done integer not null default 0,
  position_at timestamp(3) with time zone not null,
  position_id text collate "C" not null default ''::text,
  created_at timestamp(3) with time zone not null,
  advanced_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint replays_pkey PRIMARY KEY (organization_id, webhook_id, id),
  constraint replays_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text, 'cancelled'::text])))
);

create table posthorn.request_keys (
  organization_id text collate "C" not null,
  token_id text collate "C" not null,
  route text not null,
  key text not null,
  fingerprint bytea not null,
  created_at timestamp(3) with time zone not null,
  status smallint,
  body text,
  location text,
  running boolean not null default false,
  constraint request_keys_pkey PRIMARY KEY (organization_id, token_id, route, key)
);

create table posthorn.resources (
  organization_id text collate "C" not null,
  id text collate "C" not null,
  kind text collate "C" not null,
  workspace_id text collate "C",
  status text collate "C" not null,
  status_since timestamp(3) with time zone not null,
  attributes jsonb not null,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  constraint resources_pkey PRIMARY KEY (organization_id, id)
);

create table posthorn.schema_files (
  name text not null,
  checksum text not null,
  revision integer not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_files_pkey PRIMARY KEY (name)
);

create table posthorn.tokens (
  organization_id text collate "C" not null,
  id text collate "C" not null,
  workspace_id text collate "C",
  hash bytea not null,
  scopes text[] not null,
  actor_type text not null,
  actor_id text not null,
  created_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone not null,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  portal boolean not null default false,
  constraint tokens_pkey PRIMARY KEY (organization_id, id)
);

create table posthorn.webhook_health (
  organization_id text collate "C" not null,
  webhook_id text collate "C" not null,
  last_delivery_at timestamp(3) with time zone,
  last_delivery_status text,
  failing_since timestamp(3) with time zone,
  last_failure_at timestamp(3) with time zone,
  failures integer not null default 0,
  incident_since timestamp(3) with time zone,
  constraint webhook_health_last_delivery_status_check CHECK ((last_delivery_status = ANY (ARRAY['success'::text, 'failed'::text]))),
  constraint webhook_health_organization_id_webhook_id_fkey FOREIGN KEY (organization_id, webhook_id) REFERENCES posthorn.webhooks(organization_id, id) ON DELETE CASCADE,
  constraint webhook_health_pkey PRIMARY KEY (organization_id, webhook_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.2, autovacuum_vacuum_threshold=1000);

create table posthorn.webhooks (
  organization_id text collate "C" not null,
  id text collate "C" not null,
  workspace_id text collate "C",
  url text not null,
  status text not null,
  disabled_reason text,
  event_types text[] not null,
  created_at timestamp(3) with time zone not null,
  description text,
  rate_limit integer,
  header_names text[] not null default '{}'::text[],
  headers bytea,
  destination_changed_at timestamp(3) with time zone,
  secret bytea not null,
  previous_secret bytea,
  previous_secret_until timestamp(3) with time zone,
  revision integer not null default 1,
  verification_failure jsonb,
  verifications integer not null default 0,
  verify_at timestamp(3) with time zone,
  tests_since timestamp(3) with time zone,
  tests integer not null default 0,
  filter json,
  filter_path jsonpath,
  retry_schedule text[],
  expires_at timestamp(3) with time zone,
  format text not null default 'envelope'::text,
  template json,
  format_changed_at timestamp(3) with time zone,
  secret_rotated_at timestamp(3) with time zone,
  constraint webhooks_check CHECK (((status = 'disabled'::text) = (disabled_reason IS NOT NULL))),
  constraint webhooks_check1 CHECK (((headers IS NULL) = (header_names = '{}'::text[]))),
  constraint webhooks_check2 CHECK (((filter IS NULL) = (filter_path IS NULL))),
  constraint webhooks_check3 CHECK (((format = 'template'::text) = (template IS NOT NULL))),
  constraint webhooks_description_check CHECK ((length(description) <= 256)),
  constraint webhooks_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text, 'manual'::text]))),
  constraint webhooks_event_types_check CHECK (((cardinality(event_types) >= 1) AND (cardinality(event_types) <= 100))),
  constraint webhooks_format_check CHECK ((format = ANY (ARRAY['envelope'::text, 'event'::text, 'thin'::text, 'cloudevents'::text, 'slack'::text, 'template'::text]))),
  constraint webhooks_header_names_check CHECK ((cardinality(header_names) <= 10)),
  constraint webhooks_pkey PRIMARY KEY (organization_id, id),
  constraint webhooks_rate_limit_check CHECK (((rate_limit >= 1) AND (rate_limit <= 1000))),
  constraint webhooks_retry_schedule_check CHECK (((cardinality(retry_schedule) >= 1) AND (cardinality(retry_schedule) <= 19))),
  constraint webhooks_status_check CHECK ((status = ANY (ARRAY['active'::text, 'unverified'::text, 'paused'::text, 'disabled'::text])))
);

CREATE INDEX audit_log_by_action ON ONLY posthorn.audit_log USING btree (organization_id, action, created_at, id);
CREATE INDEX audit_log_by_actor ON ONLY posthorn.audit_log USING btree (organization_id, actor_id, created_at, id);
CREATE INDEX audit_log_by_target ON ONLY posthorn.audit_log USING btree (organization_id, target_id, created_at, id);
CREATE INDEX audit_log_by_time ON ONLY posthorn.audit_log USING brin (created_at);
CREATE INDEX audit_log_by_workspace ON ONLY posthorn.audit_log USING btree (organization_id, workspace_id, created_at, id);
CREATE INDEX backlog_held ON posthorn.backlog USING btree (organization_id, webhook_id, created_at, head, first) WHERE (leased_by = 0);
CREATE INDEX backlog_leased ON posthorn.backlog USING btree (leased_by, organization_id, webhook_id) WHERE (leased_by IS NOT NULL);
CREATE INDEX backlog_waiting ON posthorn.backlog USING btree (organization_id, webhook_id, created_at, head, first) WHERE (leased_by IS NULL);
CREATE INDEX deliveries_again ON ONLY posthorn.deliveries USING btree (organization_id, event_id) WHERE (created_at <> event_created_at);
CREATE INDEX deliveries_due ON ONLY posthorn.deliveries USING btree (due_at) WHERE ((status = 'pending'::text) AND (leased_by IS NULL));
CREATE INDEX deliveries_failed ON ONLY posthorn.deliveries USING btree (organization_id, webhook_id, created_at, id) WHERE (status = 'failed'::text);
CREATE INDEX deliveries_leased ON ONLY posthorn.deliveries USING btree (leased_by, organization_id, webhook_id) WHERE ((status = 'pending'::text) AND (leased_by IS NOT NULL));
CREATE INDEX deliveries_retrying ON ONLY posthorn.deliveries USING btree (organization_id, webhook_id, created_at, id) WHERE ((status = 'pending'::text) AND (attempts > 0));
CREATE INDEX deliveries_waiting ON ONLY posthorn.deliveries USING btree (organization_id, webhook_id, due_at) WHERE ((status = 'pending'::text) AND (leased_by IS NULL));
CREATE INDEX event_keys_by_age ON posthorn.event_keys USING btree (created_at);
CREATE INDEX events_by_actor ON ONLY posthorn.events USING btree (organization_id, actor_id, created_at, id);
CREATE INDEX events_by_subject ON ONLY posthorn.events USING btree (organization_id, subject_id, created_at, id);
CREATE INDEX events_by_subject_type ON ONLY posthorn.events USING btree (organization_id, subject_type, created_at, id);
CREATE INDEX events_by_time ON ONLY posthorn.events USING brin (created_at) WITH (autosummarize='on');
CREATE INDEX events_by_type ON ONLY posthorn.events USING btree (organization_id, type, created_at, id);
CREATE INDEX events_by_workspace ON ONLY posthorn.events USING btree (organization_id, workspace_id, created_at, id);
CREATE INDEX handoffs_leased ON posthorn.handoffs USING btree (leased_by);
CREATE INDEX replays_running ON posthorn.replays USING btree (advanced_at, created_at) WHERE (status = 'running'::text);
CREATE INDEX request_keys_by_age ON posthorn.request_keys USING btree (created_at);
CREATE INDEX tokens_of_portal ON posthorn.tokens USING btree (expires_at) WHERE portal;
CREATE INDEX webhooks_filtered ON posthorn.webhooks USING btree (organization_id) WHERE (filter_path IS NOT NULL);
CREATE INDEX webhooks_to_expire ON posthorn.webhooks USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX webhooks_to_match ON posthorn.webhooks USING btree (organization_id, COALESCE(workspace_id, ''::text)) WHERE (status = ANY (ARRAY['active'::text, 'paused'::text]));
CREATE INDEX webhooks_to_verify ON posthorn.webhooks USING btree (verify_at) WHERE (status = 'unverified'::text);
CREATE UNIQUE INDEX resources_by_id ON posthorn.resources USING btree (id);
CREATE UNIQUE INDEX tokens_by_hash ON posthorn.tokens USING btree (hash);
CREATE UNIQUE INDEX tokens_by_id ON posthorn.tokens USING btree (id);

CREATE TRIGGER audit_log_stays BEFORE DELETE OR UPDATE ON posthorn.audit_log FOR EACH ROW EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER audit_log_stays_whole BEFORE TRUNCATE ON posthorn.audit_log FOR EACH STATEMENT EXECUTE FUNCTION posthorn.refuse_change();
CREATE TRIGGER resources_move_by_the_table BEFORE INSERT OR UPDATE ON posthorn.resources FOR EACH ROW EXECUTE FUNCTION posthorn.check_resource();

create sequence posthorn.last_announcement;

-- Functions. The text of each is in functions/.
-- posthorn.align_waiting(organization text, webhook text, at_most integer) returns integer
-- posthorn.announce_recording(organizations text[]) returns timestamp with time zone
-- posthorn.announce_waiting() returns void
-- posthorn.audit_hash(previous bytea, entry posthorn.audit_log) returns bytea
-- posthorn.base32(n bigint) returns text
-- posthorn.check_resource() returns trigger
-- posthorn.claim(node integer, rooms jsonb, room_each integer, room_total integer, webhooks_max integer, bytes_max bigint, retry_share double precision) returns TABLE(organization_id text, webhook_id text, created_at timestamp with time zone, delivery_id text, attempts smallint, event_id text, type text, event_created_at timestamp with time zone, workspace_id text, actor_type text, actor_id text, subject_type text, subject_id text, payload json, due_at timestamp with time zone, head text, first integer, scheduled integer, more text[], next_ms double precision)
-- posthorn.count_ended(organization text, webhook text, ended integer) returns void
-- posthorn.create_resource(resource_kind text, prefix text, organization_id text, workspace_id text, attributes jsonb) returns json
-- posthorn.earlier_attempts(delivery posthorn.deliveries) returns jsonb
-- posthorn.ensure_partition(parent text, day date) returns void
-- posthorn.epoch_ms(at timestamp with time zone) returns bigint
-- posthorn.event_horizon(organization text) returns timestamp with time zone
-- posthorn.filter_passes(types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[], subject_types text[], subject_ids text[], payloads json[]) returns jsonb
-- posthorn.filterable(workspace_id text, subject_type text, subject_id text, actor_type text, actor_id text, payload json) returns jsonb
-- posthorn.horizon_bucket(organization text) returns integer
-- posthorn.matching_webhooks(organization text, workspace text, type text, about text) returns TABLE(id text, revision integer, is_paused boolean, has_filter boolean)
-- posthorn.move_resource(resource_kind text, resource_id text, made text, changes jsonb, counter text) returns json
-- posthorn.nearest_type(name text) returns text
-- posthorn.new_id(prefix text, at timestamp with time zone) returns text
-- posthorn.number_of(id text) returns bigint
-- posthorn.numbered(prefix text, head text, number bigint) returns text
-- posthorn.open_shares(organization text, webhooks text[], recording text, recorded_at timestamp with time zone) returns TABLE(webhook_id text, created_at timestamp with time zone, head text, event_base bigint, base bigint, ordinal integer)
-- posthorn.partition_end(parent text, start date) returns timestamp with time zone
-- posthorn.record(types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[], subject_types text[], subject_ids text[], keys text[], undelivered boolean[], payloads json[], node integer, known text[], rooms integer[], room_each integer, room integer) returns TABLE(ordinal bigint, id text, created_at timestamp with time zone, base bigint, webhook_id text, revision integer, ordinals integer[], has_backlog boolean)
-- posthorn.record_event(type text, organization_id text, actor json, subject json, payload json, workspace_id text DEFAULT NULL::text, idempotency_key text DEFAULT NULL::text) returns text
-- posthorn.record_events(events json) returns TABLE(ordinal bigint, id text, created_at timestamp with time zone)
-- posthorn.record_incidents(incidents json) returns bigint
-- posthorn.refuse_change() returns trigger
-- posthorn.release_leases(at_most integer) returns bigint
-- posthorn.require_here(organizations text[], event_type text) returns void
-- posthorn.resource_json(resource posthorn.resources) returns json
-- posthorn.settle(node integer, listed boolean, failing_ms double precision, organization_ids text[], webhook_ids text[], created_ms double precision[], ids text[], event_ids text[], types text[], sizes integer[], has_rows boolean[], due_ms double precision[], statuses text[], tries integer[], waits_ms double precision[], attempted_ms double precision[], http_statuses integer[], errors text[], durations_ms integer[], responses text[], evidences jsonb[], done_handoffs text[], done_organization_ids text[], done_webhook_ids text[], done_ms double precision[], done_heads text[], done_firsts integer[], health_organization_ids text[], health_webhook_ids text[], last_ms double precision[], last_statuses text[], successes boolean[], first_failure_ages_ms double precision[], last_failure_ages_ms double precision[], leading_failures integer[], leading_ages_ms double precision[], trailing_failures integer[], causes json[]) returns TABLE(written text[], failing json, unreported text[], incidents json)
-- posthorn.shares(handoff posthorn.handoffs) returns TABLE(organization_id text, webhook_id text, base bigint, ordinals integer[])
-- posthorn.ulid_head(at_ms bigint, high bigint) returns text
-- posthorn.waiting_webhooks() returns TABLE(organization_id text, webhook_id text, since timestamp with time zone)
-- posthorn.write_audit(entries json) returns void
