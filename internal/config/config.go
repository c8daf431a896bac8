// Package config contains the settings of an operator. They come from flags, then from
// environment variables, then from defaults.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bursar/internal/db"
	"bursar/internal/mail"
)

// Store is the location of the data.
type Store struct {
	Data         string
	DatabaseURL  string
	VaultKey     string
	VaultCommand string
	Alone        bool // the store is opened only while no server uses it, and keeps servers away
}

// Serve contains the settings of a server.
type Serve struct {
	Store
	DatabaseReadURL  string
	Listen           string
	TLSCert          string
	TLSKey           string
	ACME             ACME
	HTTPListen       string
	InsecureHTTP     bool
	MetricsListen    string
	PublicURL        string
	RateLimit        string
	TrustedProxies   []string
	DeviceSessionTTL time.Duration
	KeySessionTTL    time.Duration
	WebSessionTTL    time.Duration
	WebSessionIdle   time.Duration
	OIDC             OIDC
	SMTPURL          string
	MailFrom         string
	Audit            Audit
	ScreeningCommand string
	ScreeningURL     string
	DrainDelay       time.Duration
	DrainTimeout     time.Duration
	Backup           string
	BackupRecipients []string
	Rails            string
	Holidays         string
	// AuditRetentionMinDays is the fewest days that an organization may keep its audit log.
	AuditRetentionMinDays int
	LogLevel              string
	Pprof                 string
	HashMemory            uint32 // see signin.Config
}

// ACME contains the settings of an authority that issues certificates automatically.
type ACME struct {
	Domains      []string
	Email        string
	DirectoryURL string
	Cache        string
}

// Audit contains the key that signs the audit log and the destinations of its checkpoints.
type Audit struct {
	Key        string
	Checkpoint string
	Mail       string
	Witnesses  []string
}

// OIDC contains the settings of an OpenID Connect identity provider.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	Name         string
}

// BindStore adds the flags of a store.
func (s *Store) BindStore(flags *pflag.FlagSet) {
	flags.StringVar(&s.Data, "data", "./bursar-data", "folder of the embedded SQLite database [BURSAR_DATA]")
	flags.StringVar(&s.DatabaseURL, "database-url", "", "PostgreSQL database to use instead, such as postgres://user@host/database [BURSAR_DATABASE_URL]")
	flags.StringVar(&s.VaultKey, "vault-key", "", "file of the key that seals account numbers and other secrets in the database; default DATA/vault.key [BURSAR_VAULT_KEY]")
	flags.StringVar(&s.VaultCommand, "vault-command", "", "program that wraps and unwraps that key instead, such as a client of a key management service [BURSAR_VAULT_COMMAND]")
}

// BindKey adds the flag of the key that signs the audit log.
func (a *Audit) BindKey(flags *pflag.FlagSet) {
	flags.StringVar(&a.Key, "audit-key", "", "file with the key that signs the audit log, which only its owner may read; default DATA/audit.key, made at the first start, and none with PostgreSQL [BURSAR_AUDIT_KEY]")
}

// BindCheckpoint adds the flag of the checkpoint that is kept outside the store.
func (a *Audit) BindCheckpoint(flags *pflag.FlagSet) {
	flags.StringVar(&a.Checkpoint, "audit-checkpoint", "", "file that keeps the newest checkpoint of the audit log outside of the store; default audit.checkpoint beside the key [BURSAR_AUDIT_CHECKPOINT]")
}

// BindServe adds the flags of a server.
func (s *Serve) BindServe(flags *pflag.FlagSet) {
	s.BindStore(flags)
	flags.StringVar(&s.DatabaseReadURL, "database-read-url", "", "standby of that PostgreSQL, which may serve lists; see docs/scale.md [BURSAR_DATABASE_READ_URL]")
	flags.StringVar(&s.Listen, "listen", "127.0.0.1:8080", "address to listen on [BURSAR_LISTEN]")
	flags.StringVar(&s.TLSCert, "tls-cert", "", "file with the certificate chain for TLS, in PEM; read again when it changes [BURSAR_TLS_CERT]")
	flags.StringVar(&s.TLSKey, "tls-key", "", "file with the private key of the certificate, in PEM [BURSAR_TLS_KEY]")
	flags.StringSliceVar(&s.ACME.Domains, "acme-domain", nil, "host names for which to get certificates by ACME, whose terms you accept with it, such as pay.example.com [BURSAR_ACME_DOMAIN]")
	flags.StringVar(&s.ACME.Email, "acme-email", "", "address that the ACME authority may write to [BURSAR_ACME_EMAIL]")
	flags.StringVar(&s.ACME.DirectoryURL, "acme-directory-url", "", "directory of the ACME authority; default that of Let's Encrypt [BURSAR_ACME_DIRECTORY_URL]")
	flags.StringVar(&s.ACME.Cache, "acme-cache", "", "folder that keeps the certificates of ACME; default DATA/acme [BURSAR_ACME_CACHE]")
	flags.StringVar(&s.HTTPListen, "http-listen", "", "with TLS: second address, such as :80, that redirects browsers to the public address and answers HTTP-01 challenges of ACME [BURSAR_HTTP_LISTEN]")
	flags.BoolVar(&s.InsecureHTTP, "insecure-http", false, "allow plain HTTP on an address that is not loopback, without a trusted proxy [BURSAR_INSECURE_HTTP]")
	flags.StringVar(&s.MetricsListen, "metrics-listen", "", "address on which to serve /metrics to Prometheus, such as 127.0.0.1:9090 [BURSAR_METRICS_LISTEN]")
	flags.StringVar(&s.PublicURL, "public-url", "", "address that people and clients use, such as https://pay.example.com; default the host name of ACME, or LISTEN [BURSAR_PUBLIC_URL]")
	flags.StringVar(&s.RateLimit, "rate-limit", "50/s", "maximum rate of requests per caller, such as 50/s or 600/m; off disables all limits, including those of logins [BURSAR_RATE_LIMIT]")
	flags.StringSliceVar(&s.TrustedProxies, "trusted-proxies", nil, "networks of proxies whose X-Forwarded-For header is trusted, such as 10.0.0.0/8,::1/128 [BURSAR_TRUSTED_PROXIES]")
	flags.DurationVar(&s.DeviceSessionTTL, "device-session-ttl", 12*time.Hour, "lifetime of a session after device login [BURSAR_DEVICE_SESSION_TTL]")
	flags.DurationVar(&s.KeySessionTTL, "key-session-ttl", time.Hour, "lifetime of a session after key exchange [BURSAR_KEY_SESSION_TTL]")
	flags.DurationVar(&s.WebSessionTTL, "web-session-ttl", 12*time.Hour, "lifetime of a browser session [BURSAR_WEB_SESSION_TTL]")
	flags.DurationVar(&s.WebSessionIdle, "web-session-idle", 30*time.Minute, "how long a browser session lasts without activity [BURSAR_WEB_SESSION_IDLE]")
	flags.StringVar(&s.OIDC.Issuer, "oidc-issuer", "", "OpenID Connect provider for single sign-on, such as https://id.example.com [BURSAR_OIDC_ISSUER]")
	flags.StringVar(&s.OIDC.ClientID, "oidc-client-id", "", "client id of Bursar at the provider [BURSAR_OIDC_CLIENT_ID]")
	flags.StringVar(&s.OIDC.ClientSecret, "oidc-client-secret", "", "client secret of Bursar at the provider; better set with the variable [BURSAR_OIDC_CLIENT_SECRET]")
	flags.StringVar(&s.OIDC.Name, "oidc-name", "your company", "name of the provider on the sign-in page [BURSAR_OIDC_NAME]")
	flags.StringVar(&s.SMTPURL, "smtp-url", "", "mail server, such as smtp://user:password@host:587 or smtps://…; better set with the variable [BURSAR_SMTP_URL]")
	flags.StringVar(&s.MailFrom, "mail-from", "", "sender address of mail [BURSAR_MAIL_FROM]")
	s.Audit.BindKey(flags)
	s.Audit.BindCheckpoint(flags)
	flags.StringVar(&s.Audit.Mail, "audit-mail", "", "address that gets the newest checkpoint of the audit log once a day; needs --smtp-url [BURSAR_AUDIT_MAIL]")
	flags.StringSliceVar(&s.Audit.Witnesses, "audit-witness", nil, "public key and address, with a space between them, of a witness that signs the checkpoints of the audit log (C2SP tlog-witness); can be repeated [BURSAR_AUDIT_WITNESS]")
	flags.StringVar(&s.Rails, "rails", "", "file that defines rails for real money, in JSON; without it there are those of the sandbox alone [BURSAR_RAILS]")
	flags.StringVar(&s.Holidays, "holidays", "", "file with holidays that are not in the built-in table, such as '2026-12-24 Christmas Eve', or that are none after all, such as '-2026-12-24' [BURSAR_HOLIDAYS]")
	flags.StringVar(&s.ScreeningCommand, "screening-command", "", "program that gets each payout as JSON and prints whether to allow, hold or deny it [BURSAR_SCREENING_COMMAND]")
	flags.StringVar(&s.ScreeningURL, "screening-url", "", "address that gets the same by POST and answers the same [BURSAR_SCREENING_URL]")
	flags.DurationVar(&s.DrainDelay, "drain-delay", time.Second, "how long a stopping server accepts requests, while /readyz answers 503; longer than your load balancer needs to notice [BURSAR_DRAIN_DELAY]")
	flags.DurationVar(&s.DrainTimeout, "drain-timeout", 30*time.Second, "how long the server waits for unfinished requests when it stops [BURSAR_DRAIN_TIMEOUT]")
	flags.StringVar(&s.Backup, "backup", "", "copy the embedded store there all the time: a folder, or s3://bucket/prefix, for which the variables of the tools of AWS are read [BURSAR_BACKUP]")
	flags.StringSliceVar(&s.BackupRecipients, "backup-recipient", nil, "public key of age that can read the backup, which is not encrypted without; can be repeated [BURSAR_BACKUP_RECIPIENT]")
	flags.IntVar(&s.AuditRetentionMinDays, "audit-retention-min-days", 365, "fewest days after which an organization may have its audit log erased [BURSAR_AUDIT_RETENTION_MIN_DAYS]")
	flags.StringVar(&s.LogLevel, "log-level", "info", "debug, info, warn or error [BURSAR_LOG_LEVEL]")
	flags.StringVar(&s.Pprof, "pprof", "", "loopback address on which to serve profiles to go tool pprof, such as 127.0.0.1:6060 [BURSAR_PPROF]")
}

// FromEnvironment sets each flag that is not on the command line from its environment
// variable: --data from BURSAR_DATA, --public-url from BURSAR_PUBLIC_URL, and so on.
func FromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	if flags.Changed("data") && flags.Changed("database-url") {
		return errors.New("use either --data or --database-url, not both")
	}
	folderGiven := flags.Changed("data")
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "BURSAR_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if !strings.Contains(f.Usage, "["+name+"]") {
			return
		}
		value, ok := lookup(name)
		if f.Changed || !ok || value == "" || failed != nil {
			return
		}
		if folderGiven && (f.Name == "database-url" || f.Name == "database-read-url") {
			return // --data on the command line overrides BURSAR_DATABASE_URL
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
	})
	return failed
}

// AuditKey returns the file of the key that signs the audit log: the given one, or by
// default the one beside the embedded database. It is empty for PostgreSQL if none is given.
func (s Store) AuditKey(given string) string {
	if given != "" || s.DatabaseURL != "" {
		return given
	}
	return filepath.Join(s.Data, "audit.key")
}

// DB returns the configuration to open the store.
func (s Store) DB() db.Config {
	if s.DatabaseURL != "" {
		return db.Config{URL: s.DatabaseURL, Exclusive: s.Alone}
	}
	return db.Config{Dir: s.Data, Exclusive: s.Alone}
}

// VaultFile returns the file of the vault key, which is beside a SQLite database unless
// another is named.
func (s Store) VaultFile() string {
	if s.VaultKey == "" && s.DatabaseURL == "" {
		return filepath.Join(s.Data, "vault.key")
	}
	return s.VaultKey
}

// Missing returns an error if the store does not exist, so that a mistyped folder does
// not become a new store.
func (s Store) Missing() error {
	if s.DatabaseURL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.Data, db.SQLiteFile)); err != nil {
		return fmt.Errorf("there is no store in %s: %w", s.Data, err)
	}
	return nil
}

// PublicURL checks and normalizes the public address of a server.
func PublicURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("--public-url must be an http or https address, such as https://pay.example.com")
	}
	return strings.TrimRight(text, "/"), nil
}

// Check reports invalid settings, and sets those that depend on others.
func (s *Serve) Check() error {
	if s.PublicURL != "" {
		address, err := PublicURL(s.PublicURL)
		if err != nil {
			return err
		}
		s.PublicURL = address
	}
	for flag, address := range map[string]string{"--database-url": s.DatabaseURL, "--database-read-url": s.DatabaseReadURL} {
		if u, err := url.Parse(address); address != "" && (err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql")) {
			return errors.New(flag + " must be an address such as postgres://user@host/database") // the value is not repeated, because it may contain a password
		}
	}
	if s.DatabaseReadURL != "" && s.DatabaseURL == "" {
		return errors.New("--database-read-url needs --database-url: the embedded database has no standby")
	}
	if err := s.checkListeners(); err != nil {
		return err
	}
	if err := s.checkTLS(); err != nil {
		return err
	}
	if s.Backup != "" && s.DatabaseURL != "" {
		return errors.New("--backup is for an embedded store: PostgreSQL has its own: see docs/operating.md")
	}
	if s.Backup != "" && !strings.HasPrefix(s.Backup, "s3:") && isInside(s.Backup, s.Data) {
		return errors.New("--backup is in the data folder, and would be lost with it: choose another folder or an object store")
	}
	if len(s.BackupRecipients) > 0 && s.Backup == "" {
		return errors.New("--backup-recipient needs --backup")
	}
	if s.DrainDelay < 0 {
		return errors.New("--drain-delay must not be negative")
	}
	if s.DrainTimeout < 0 {
		return errors.New("--drain-timeout must not be negative")
	}
	if s.AuditRetentionMinDays < 1 {
		return errors.New("--audit-retention-min-days must be at least 1")
	}
	if min(s.DeviceSessionTTL, s.KeySessionTTL, s.WebSessionTTL, s.WebSessionIdle) < time.Minute {
		return errors.New("the lifetime of a session must be at least a minute")
	}
	if err := s.OIDC.check(); err != nil {
		return err
	}
	if _, err := mail.Parse(s.SMTPURL, s.MailFrom); err != nil {
		return fmt.Errorf("--smtp-url and --mail-from: %w", err)
	}
	if s.Audit.Mail != "" && s.SMTPURL == "" {
		return errors.New("--audit-mail needs --smtp-url and --mail-from")
	}
	if s.Audit.Mail != "" {
		if err := mail.CheckRecipient(s.Audit.Mail); err != nil {
			return fmt.Errorf("--audit-mail: %w", err)
		}
	}
	if len(s.Audit.Witnesses) > 0 && s.DatabaseURL != "" && s.Audit.Key == "" {
		return errors.New("--audit-witness needs --audit-key with PostgreSQL")
	}
	if err := s.checkScreening(); err != nil {
		return err
	}
	if _, err := s.Proxies(); err != nil {
		return err
	}
	_, err := s.Rate()
	return err
}

func isInside(path, folder string) bool {
	a, err := filepath.Abs(path)
	b, err2 := filepath.Abs(folder)
	if err != nil || err2 != nil {
		return false
	}
	relative, err := filepath.Rel(b, a)
	return err == nil && filepath.IsLocal(relative)
}

func (s *Serve) checkScreening() error {
	s.ScreeningCommand = strings.TrimSpace(s.ScreeningCommand)
	if s.ScreeningCommand != "" && s.ScreeningURL != "" {
		return errors.New("use either --screening-command or --screening-url, not both")
	}
	if s.ScreeningURL != "" {
		u, err := url.Parse(s.ScreeningURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("--screening-url must be an address such as https://screening.example.com/payouts") // the value may contain a password
		}
	}
	return nil
}

func (s *Serve) checkListeners() error {
	if _, ok := hostOf(s.Listen); !ok {
		return fmt.Errorf("--listen must be an address and a port, such as 127.0.0.1:8080, not %q", s.Listen)
	}
	if _, ok := hostOf(s.HTTPListen); s.HTTPListen != "" && !ok {
		return fmt.Errorf("--http-listen must be an address and a port, such as :80, not %q", s.HTTPListen)
	}
	if _, ok := hostOf(s.MetricsListen); s.MetricsListen != "" && !ok {
		return fmt.Errorf("--metrics-listen must be an address and a port, such as 127.0.0.1:9090, not %q", s.MetricsListen)
	}
	if host, ok := hostOf(s.Pprof); s.Pprof != "" && !(ok && loopback(host)) {
		return fmt.Errorf("--pprof must be a loopback address and a port, such as 127.0.0.1:6060, not %q, because profiles must not be public", s.Pprof)
	}
	if s.Public() && !s.TLS() && len(s.TrustedProxies) == 0 && !s.InsecureHTTP {
		return fmt.Errorf("--listen %s is open to the network, and plain HTTP would show passwords, keys and tokens to everyone on the way: "+
			"use TLS with --tls-cert and --tls-key or with --acme-domain, name the network of a proxy that terminates TLS with --trusted-proxies, "+
			"or accept plain HTTP with --insecure-http", s.Listen)
	}
	return nil
}

func (s *Serve) checkTLS() error {
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key must be used together")
	case s.TLSCert != "" && len(s.ACME.Domains) > 0:
		return errors.New("use either --tls-cert or --acme-domain, not both")
	case s.HTTPListen != "" && !s.TLS():
		return errors.New("--http-listen needs TLS: use --tls-cert and --tls-key, or --acme-domain")
	case s.TLS() && strings.HasPrefix(s.PublicURL, "http:"):
		return errors.New("--public-url must begin with https://, because the server uses TLS")
	case len(s.ACME.Domains) == 0:
		return nil
	}
	for _, domain := range s.ACME.Domains {
		if _, err := netip.ParseAddr(domain); err == nil || !strings.Contains(domain, ".") || strings.ContainsAny(domain, "*:/ ") {
			return fmt.Errorf("--acme-domain must be a host name such as pay.example.com, not %q", domain)
		}
	}
	if u, err := url.Parse(s.ACME.DirectoryURL); s.ACME.DirectoryURL != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return errors.New("--acme-directory-url must be an https address")
	}
	if s.ACME.Cache == "" {
		if s.DatabaseURL != "" {
			return errors.New("--acme-domain needs --acme-cache with PostgreSQL: a folder that keeps the certificates")
		}
		s.ACME.Cache = filepath.Join(s.Data, "acme")
	}
	if s.PublicURL == "" {
		s.PublicURL = "https://" + s.ACME.Domains[0]
		if _, port, _ := net.SplitHostPort(s.Listen); port != "443" {
			s.PublicURL += ":" + port
		}
	}
	return nil
}

// TLS reports whether the server itself serves TLS.
func (s *Serve) TLS() bool { return s.TLSCert != "" || len(s.ACME.Domains) > 0 }

// Public reports whether other machines can reach the listener.
func (s *Serve) Public() bool {
	host, _ := hostOf(s.Listen)
	return !loopback(host)
}

// hostOf returns the host of a listening address. It is empty if the address includes all networks.
func hostOf(address string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(address)
	_, bad := strconv.ParseUint(port, 10, 16)
	return host, err == nil && bad == nil
}

func (o OIDC) check() error {
	if o.Issuer == "" && o.ClientID == "" && o.ClientSecret == "" {
		return nil
	}
	if o.Issuer == "" || o.ClientID == "" {
		return errors.New("--oidc-issuer and --oidc-client-id must be used together")
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || (u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname()))) {
		return errors.New("--oidc-issuer must be an https address, such as https://id.example.com")
	}
	return nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && address.IsLoopback())
}

// Proxies returns the networks of proxies whose X-Forwarded-For header is trusted.
func (s *Serve) Proxies() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range s.TrustedProxies {
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxies: %q is not a network such as 10.0.0.0/8", text)
		}
		list = append(list, network)
	}
	return list, nil
}

// Rate is the rate limit of a caller.
type Rate struct {
	Off       bool
	PerSecond float64
	Burst     int
}

// Rate parses the rate limit: off, N/s or N/m.
func (s *Serve) Rate() (Rate, error) {
	if s.RateLimit == "off" {
		return Rate{Off: true}, nil
	}
	number, unit, _ := strings.Cut(s.RateLimit, "/")
	n, err := strconv.Atoi(number)
	seconds := map[string]float64{"s": 1, "m": 60}[unit]
	if err != nil || n < 1 || n > 1_000_000 || seconds == 0 {
		return Rate{}, fmt.Errorf("--rate-limit must be off or a rate such as 50/s or 600/m, not %q", s.RateLimit)
	}
	return Rate{PerSecond: float64(n) / seconds, Burst: 2 * n}, nil
}
