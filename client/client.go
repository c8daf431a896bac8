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

// Client talks to one Bursar server. Create it with [New]. It is safe for concurrent use.
type Client struct {
	// Auth is about the caller: sessions, device logins and activity.
	Auth *AuthService
	// Keys are the API keys of the caller.
	Keys *KeyService
	// Directory holds the people and organizations of a workspace.
	Directory *DirectoryService
	// Tags group the entries of a directory.
	Tags *TagService
	// ReceivingMethods are the accounts where an entry receives money.
	ReceivingMethods *ReceivingMethodService
	// Approvals are what one person asks for and another one allows.
	Approvals *ApprovalService
	// Accounts have the money of a workspace.
	Accounts *AccountService
	// Payouts take money of accounts to payees.
	Payouts *PayoutService
	// ApprovalRules say how many people have to approve payouts, and PayoutLimits how much may be paid.
	ApprovalRules *ApprovalRuleService
	PayoutLimits  *PayoutLimitService
	// Rails carry payouts to institutions.
	Rails *RailService
	// Sandbox drives the simulated rails.
	Sandbox *SandboxService
	// Workspaces hold directories, members and roles.
	Workspaces *WorkspaceService
	// Members are the people in a workspace.
	Members *MemberService
	// Invitations are the workspaces that the caller may join.
	Invitations *InvitationService
	// Roles say what members may do.
	Roles *RoleService
	// MachineClients are the accounts of programs in a workspace.
	MachineClients *MachineClientService
	// Operators operate the store.
	Operators *OperatorService
	// Organizations own workspaces.
	Organizations *OrganizationService
	// Audit is the log of who did what.
	Audit *AuditService

	base    *url.URL // without the version
	http    *http.Client
	agent   string
	timeout time.Duration // of an attempt, 0 if the http.Client has its own
	retries retryPolicy
	log     *slog.Logger
	session *session
}

// version is the first segment of every path, except of those about money.
const (
	version      = "/v1"
	moneyVersion = "/v2"
)

// defaultTimeout bounds an attempt, unless the http.Client has a timeout.
const defaultTimeout = 30 * time.Second

// New returns a client of the server at baseURL, such as https://bursar.example, with or
// without /v1 at the end. It does not connect yet. Without a credential only operations
// that need no session work, such as a device login.
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

// String names the server and tells no secret.
func (c *Client) String() string { return "bursar client of " + c.base.String() }

// GoString names the server and tells no secret.
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
