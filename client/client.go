package client

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client is a client of one Bursar server. Create it with [New]. It is safe for concurrent use.
type Client struct {
	// Auth manages the caller's sessions and device logins, and reads their activity.
	Auth *AuthService
	// Keys manages the API keys of the caller.
	Keys *KeyService
	// Directory manages the people and organizations of a workspace.
	Directory *DirectoryService
	// Tags manages the tags of a directory.
	Tags *TagService
	// ReceivingMethods manages the accounts where an entry receives money.
	ReceivingMethods *ReceivingMethodService
	// Approvals decides changes that other people have requested.
	Approvals *ApprovalService
	// Accounts manages the accounts of a workspace and their money.
	Accounts *AccountService
	// Payouts pays people and organizations from accounts.
	Payouts *PayoutService
	// ApprovalRules sets how many people have to approve payouts. PayoutLimits sets how much may be paid.
	ApprovalRules *ApprovalRuleService
	PayoutLimits  *PayoutLimitService
	// Rails reads the rails, the institutions that they reach, and their health.
	Rails *RailService
	// Sandbox controls the simulated rails.
	Sandbox *SandboxService
	// Workspaces manages workspaces, which hold directories, members and roles.
	Workspaces *WorkspaceService
	// Members manages the people in a workspace.
	Members *MemberService
	// Invitations accepts or declines the caller's invitations to workspaces.
	Invitations *InvitationService
	// Roles manages what members may do.
	Roles *RoleService
	// MachineClients manages the identities of programs in a workspace.
	MachineClients *MachineClientService
	// Operators decides requests of the operators of the store.
	Operators *OperatorService
	// Organizations manages organizations, which own workspaces.
	Organizations *OrganizationService
	// Audit reads the audit log.
	Audit *AuditService

	base    *url.URL // without the version in the path
	http    *http.Client
	agent   string
	timeout time.Duration // of one attempt; 0 if the http.Client has its own
	retries retryPolicy
	log     *slog.Logger
	session *session
}

// version is the first segment of every path, except those about money.
const (
	version      = "/v1"
	moneyVersion = "/v2"
)

// defaultTimeout bounds an attempt, unless the http.Client has a timeout.
const defaultTimeout = 30 * time.Second

// New returns a client of the server at baseURL, such as https://bursar.example, with or without /v1 at the end. It does not connect.
// Without a credential, only operations that need no session work, such as a device login.
func New(baseURL string, opts ...Option) (*Client, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	set := defaults()
	for _, opt := range opts {
		opt(&set)
	}
	if err := set.check(); err != nil {
		return nil, err
	}
	c := &Client{
		base:    base,
		http:    stayingHome(set.http),
		agent:   set.agent,
		timeout: defaultTimeout,
		retries: set.retries,
		log:     cmp.Or(set.log, slog.New(slog.DiscardHandler)),
	}
	if set.http.Timeout > 0 {
		c.timeout = 0
	}
	c.session = newSession(c, set)
	c.Auth = &AuthService{c}
	c.Keys = &KeyService{c}
	c.Directory = &DirectoryService{c}
	c.Tags = &TagService{c}
	c.ReceivingMethods = &ReceivingMethodService{c}
	c.Approvals = &ApprovalService{c}
	c.Accounts = &AccountService{c}
	c.ApprovalRules = &ApprovalRuleService{c}
	c.PayoutLimits = &PayoutLimitService{c}
	c.Payouts = &PayoutService{c}
	c.Rails = &RailService{c}
	c.Sandbox = &SandboxService{c}
	c.Workspaces = &WorkspaceService{c}
	c.Members = &MemberService{c}
	c.Invitations = &InvitationService{c}
	c.Roles = &RoleService{c}
	c.MachineClients = &MachineClientService{c}
	c.Operators = &OperatorService{c}
	c.Organizations = &OrganizationService{c}
	c.Audit = &AuditService{c}
	return c, nil
}

// BaseURL returns the address of the server, without the version.
func (c *Client) BaseURL() string { return c.base.String() }

// String returns the address of the server, without any secret.
func (c *Client) String() string { return "bursar client of " + c.base.String() }

// GoString returns the address of the server, without any secret.
func (c *Client) GoString() string { return c.String() }

func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("bursar: the base URL is malformed")
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("bursar: the base URL must be an address such as https://bursar.example, not %q", base.Redacted())
	case base.User != nil:
		return nil, errors.New("bursar: the base URL must not carry a credential: use WithAPIKey or WithClientSecret")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("bursar: the base URL must have neither a query nor a fragment")
	}
	path := strings.TrimRight(base.Path, "/")
	path = strings.TrimRight(strings.TrimSuffix(path, version), "/")
	return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: path}, nil
}
