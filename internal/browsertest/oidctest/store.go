package oidctest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// people implements the storage's lookup of users.
type people struct {
	mu   sync.Mutex
	list []User
}

func (p *people) add(user User) {
	user.Subject = cmp.Or(user.Subject, user.Email)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(p.list, func(known User) bool { return known.Subject == user.Subject })
	p.list = append(p.list, user)
}

func (p *people) find(is func(User) bool) (User, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.list, is); i >= 0 {
		return p.list[i], true
	}
	return User{}, false
}

func (p *people) lookup(is func(User) bool) *storage.User {
	user, ok := p.find(is)
	if !ok {
		return nil
	}
	return &storage.User{
		ID: user.Subject, Username: user.Email, Password: user.Password,
		Email: user.Email, EmailVerified: user.Verified, FirstName: user.Name,
	}
}

func (p *people) GetUserByID(id string) *storage.User {
	return p.lookup(func(user User) bool { return user.Subject == id })
}

func (p *people) GetUserByUsername(email string) *storage.User {
	return p.lookup(func(user User) bool { return user.Email == email })
}

// ExampleClientID returns the name of a service account that is not used.
func (p *people) ExampleClientID() string { return "service" }

// store is zitadel's example storage, which is in memory. It has a client whose ID tokens
// contain the claims about the user.
type store struct {
	*storage.Storage
	people *people

	mu        sync.Mutex
	redirects []string
}

func newStore(known *people, id, secret string) *store {
	clients := map[string]*storage.Client{id: storage.WebClient(id, secret)}
	return &store{Storage: storage.NewStorageWithClients(known, clients), people: known}
}

func (s *store) allow(uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redirects = append(s.redirects, uris...)
}

type client struct {
	op.Client
	redirects []string
}

func (c client) RedirectURIs() []string               { return c.redirects }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }

func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	known, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return client{Client: known, redirects: slices.Clone(s.redirects)}, nil
}

// SetUserinfoFromRequest fills the ID token.
func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	err := s.Storage.SetUserinfoFromRequest(ctx, info, request, scopes)
	s.name(info)
	return err
}

// SetUserinfoFromToken fills the answer of the userinfo endpoint.
func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	err := s.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
	s.name(info)
	return err
}

// name sets the user's name as the test gave it, because the example storage assembles it
// from a first and a last name.
func (s *store) name(info *oidc.UserInfo) {
	user, ok := s.people.find(func(user User) bool { return user.Subject == info.Subject })
	if ok && info.Name != "" {
		info.Name, info.GivenName = user.Name, ""
	}
}
