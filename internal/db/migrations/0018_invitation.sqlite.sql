-- Nobody is in a workspace who has not agreed. Until somebody accepts, their membership is
-- an invitation: the API lists it under its own id, which goes on to name the member.
-- member_id is the id in that list: the invitation's, and the account's from then on.
ALTER TABLE workspace_member ADD COLUMN member_id TEXT NOT NULL DEFAULT '';
ALTER TABLE workspace_member ADD COLUMN invitation_id TEXT;
ALTER TABLE workspace_member ADD COLUMN invited_by TEXT;
ALTER TABLE workspace_member ADD COLUMN invitation_expires_at BIGINT;

-- Members stay members: until now, whoever had a verified address was one without being
-- asked. What others were sent stays good for as long as it was.
UPDATE workspace_member SET accepted = TRUE WHERE account_id IN (SELECT id FROM account WHERE email_proof = '*');
UPDATE workspace_member SET invitation_id = 'inv_0' || substr(lower(hex(randomblob(13))), 1, 25),
    invited_by = (SELECT l.made_by FROM account_link l WHERE l.account_id = workspace_member.account_id
        AND l.workspace_id = workspace_member.workspace_id ORDER BY l.id DESC LIMIT 1),
    invitation_expires_at = COALESCE((SELECT max(l.expires_at) FROM account_link l WHERE l.account_id = workspace_member.account_id
        AND l.workspace_id = workspace_member.workspace_id AND l.used_at IS NULL), 0)
WHERE accepted = FALSE;
UPDATE workspace_member SET member_id = COALESCE(invitation_id, account_id);
CREATE UNIQUE INDEX workspace_member_listed ON workspace_member (workspace_id, member_id);
CREATE UNIQUE INDEX workspace_member_invitation ON workspace_member (invitation_id) WHERE invitation_id IS NOT NULL;
CREATE INDEX workspace_member_invited ON workspace_member (account_id, invitation_id) WHERE accepted = FALSE;

DROP VIEW live_member;
CREATE VIEW live_member AS
    SELECT m.workspace_id, m.account_id, m.joined_at, w.organization_id
    FROM workspace_member m JOIN workspace w ON w.id = m.workspace_id
    WHERE m.accepted = TRUE;

-- Joining does not change whose log tells of somebody's logins, except for an account that
-- began with an invitation: its home is where it first accepts one.
ALTER TABLE account ADD COLUMN awaits_home BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE account SET awaits_home = TRUE WHERE status = 'invited';

-- Who was shown a link, or had it mailed. A link that was shown is good for as long as
-- they may invite.
ALTER TABLE account_link ADD COLUMN made_by_id TEXT;
