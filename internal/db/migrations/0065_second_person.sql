-- Who demands a second person, and who counts as one: see internal/access/doc.go.

-- second_person_hours is how long the demand outlives the last second person, NULL for the default. made_alone is true of a policy
-- that one person made while no other could approve. members_changed is true until it is known whether a change has left no second
-- person, who is mailed about. appointed is an approver
-- whom an operator has appointed, until approvers and owners are mailed. extended_at is when the demand was last extended, 0 for never.
ALTER TABLE receiving_policy ADD COLUMN second_person_hours BIGINT;
ALTER TABLE receiving_policy ADD COLUMN made_alone BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE receiving_policy ADD COLUMN members_changed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE receiving_policy ADD COLUMN appointed TEXT;
ALTER TABLE receiving_policy ADD COLUMN extended_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX receiving_policy_members_changed ON receiving_policy (workspace_id) WHERE members_changed = TRUE;

-- An approver who came while there was no second person does not count before not_before. gone_at is when an approver was noticed to
-- have gone.
ALTER TABLE approver ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approver ADD COLUMN gone_at BIGINT;

-- Since when a member has a role, whether two people gave it, and before when it does not count. What was given before this was known
-- has always been there.
ALTER TABLE member_role ADD COLUMN granted_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE member_role ADD COLUMN by_two BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE member_role ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0;
