package client

import "bursar/api"

// What the API answers with, by the names of package api.
type (
	APIKey           = api.APIKey
	AuditEntry       = api.AuditEntry
	Created          = api.Created
	Deleted          = api.Deleted
	DeviceCode       = api.DeviceCode
	DeviceCodeStatus = api.DeviceCodeStatus
	DeviceDecision   = api.DeviceDecision
	Entry            = api.Entry
	EntrySummary     = api.EntrySummary
	Logout           = api.Logout
	Member           = api.Member
	MemberAdded      = api.MemberAdded
	MemberRemoved    = api.MemberRemoved
	NewAPIKey        = api.NewAPIKey
	Organization     = api.Organization
	PreviousAPIKey   = api.PreviousAPIKey
	ReceivingMethod  = api.ReceivingMethod
	Restored         = api.Restored
	Revoked          = api.Revoked
	Role             = api.Role
	RoleAssignment   = api.RoleAssignment
	RoleDeleted      = api.RoleDeleted
	Session          = api.Session
	Tag              = api.Tag
	User             = api.User
	Workspace        = api.Workspace
)
