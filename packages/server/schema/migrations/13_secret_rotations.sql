-- When the secret was rotated. If the receiver refuses a signature soon after, it probably has the secret before it.
alter table posthorn.webhooks add column secret_rotated_at timestamptz(3);
