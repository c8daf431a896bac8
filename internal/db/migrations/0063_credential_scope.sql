-- What a credential is limited to, as JSON (audit.Scope): the permissions, workspaces and mode of the money that it is good for, and
-- whether it may administer. '' is no limit, without administering. A session has the scope of the credential that it began with.
ALTER TABLE api_key ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN scope TEXT NOT NULL DEFAULT ''; -- of a machine client
ALTER TABLE session ADD COLUMN scope TEXT NOT NULL DEFAULT '';
