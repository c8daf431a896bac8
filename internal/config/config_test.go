package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"bursar/internal/config"
	"bursar/internal/db"
)

// load reads the settings of a server as the command line does.
func load(args []string, env map[string]string) (config.Serve, error) {
	var s config.Serve
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	s.BindServe(flags)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	err := config.FromEnvironment(flags, func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
	if err != nil {
		return s, err
	}
	return s, s.Check()
}

func mustLoad(t *testing.T, args []string, env map[string]string) config.Serve {
	t.Helper()
	s, err := load(args, env)
	if err != nil {
		t.Fatalf("%v %v: %v", args, env, err)
	}
	return s
}

func TestDefaults(t *testing.T) {
	want := config.Serve{
		Store:            config.Store{Data: "./bursar-data"},
		Listen:           "127.0.0.1:8080",
		RateLimit:        "50/s",
		DeviceSessionTTL: 12 * time.Hour,
		KeySessionTTL:    time.Hour,
		WebSessionTTL:    12 * time.Hour,
		WebSessionIdle:   30 * time.Minute,
		OIDC:             config.OIDC{Name: "your company"},
		DrainDelay:       time.Second,
		DrainTimeout:     30 * time.Second,

		AuditRetentionMinDays: 365,
		LogLevel:              "info",
	}
	if diff := cmp.Diff(want, mustLoad(t, nil, nil)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestEveryFlagNamesItsVariable(t *testing.T) {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	new(config.Serve).BindServe(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		name := "[BURSAR_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "]"
		if !strings.Contains(f.Usage, name) {
			t.Errorf("the usage of --%s does not name %s: %s", f.Name, name, f.Usage)
		}
	})
}

func TestEveryFlagCanBeSetByItsVariable(t *testing.T) {
	got := mustLoad(t, nil, map[string]string{
		"BURSAR_DATA":               "/data",
		"BURSAR_DATABASE_URL":       "postgres://db.internal/bursar",
		"BURSAR_DATABASE_READ_URL":  "postgres://standby.internal/bursar",
		"BURSAR_LISTEN":             "0.0.0.0:80",
		"BURSAR_ACME_DOMAIN":        "pay.example.com,pay.example.org",
		"BURSAR_ACME_EMAIL":         "ops@example.com",
		"BURSAR_ACME_DIRECTORY_URL": "https://acme.example.com/directory",
		"BURSAR_ACME_CACHE":         "/certificates",
		"BURSAR_HTTP_LISTEN":        ":80",
		"BURSAR_INSECURE_HTTP":      "true",
		"BURSAR_METRICS_LISTEN":     "127.0.0.1:9090",
		"BURSAR_PUBLIC_URL":         "https://pay.example.com",
		"BURSAR_RATE_LIMIT":         "off",
		"BURSAR_TRUSTED_PROXIES":    "10.0.0.0/8,::1/128",
		"BURSAR_DEVICE_SESSION_TTL": "24h",
		"BURSAR_KEY_SESSION_TTL":    "5m",
		"BURSAR_WEB_SESSION_TTL":    "8h",
		"BURSAR_WEB_SESSION_IDLE":   "10m",
		"BURSAR_OIDC_ISSUER":        "https://id.example.com",
		"BURSAR_OIDC_CLIENT_ID":     "bursar",
		"BURSAR_OIDC_CLIENT_SECRET": "s3cret",
		"BURSAR_OIDC_NAME":          "Example",
		"BURSAR_SMTP_URL":           "smtp://mail.example.com",
		"BURSAR_MAIL_FROM":          "bursar@example.com",
		"BURSAR_DRAIN_DELAY":        "15s",
		"BURSAR_DRAIN_TIMEOUT":      "3s",

		"BURSAR_AUDIT_RETENTION_MIN_DAYS": "30",

		"BURSAR_LOG_LEVEL": "warn",
		"BURSAR_PPROF":     "127.0.0.1:6060",
	})
	want := config.Serve{
		Store:           config.Store{Data: "/data", DatabaseURL: "postgres://db.internal/bursar"},
		DatabaseReadURL: "postgres://standby.internal/bursar",
		Listen:          "0.0.0.0:80",
		ACME: config.ACME{
			Domains: []string{"pay.example.com", "pay.example.org"}, Email: "ops@example.com",
			DirectoryURL: "https://acme.example.com/directory", Cache: "/certificates",
		},
		HTTPListen:       ":80",
		InsecureHTTP:     true,
		MetricsListen:    "127.0.0.1:9090",
		PublicURL:        "https://pay.example.com",
		RateLimit:        "off",
		TrustedProxies:   []string{"10.0.0.0/8", "::1/128"},
		DeviceSessionTTL: 24 * time.Hour,
		KeySessionTTL:    5 * time.Minute,
		WebSessionTTL:    8 * time.Hour,
		WebSessionIdle:   10 * time.Minute,
		OIDC:             config.OIDC{Issuer: "https://id.example.com", ClientID: "bursar", ClientSecret: "s3cret", Name: "Example"},
		SMTPURL:          "smtp://mail.example.com",
		MailFrom:         "bursar@example.com",
		DrainDelay:       15 * time.Second,
		DrainTimeout:     3 * time.Second,

		AuditRetentionMinDays: 30,

		LogLevel: "warn",
		Pprof:    "127.0.0.1:6060",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	files := mustLoad(t, nil, map[string]string{"BURSAR_TLS_CERT": "/pay.crt", "BURSAR_TLS_KEY": "/pay.key"})
	if files.TLSCert != "/pay.crt" || files.TLSKey != "/pay.key" {
		t.Errorf("the files for TLS are %q and %q", files.TLSCert, files.TLSKey)
	}
}

func TestTheHostNameOfACMEIsThePublicAddress(t *testing.T) {
	for listen, want := range map[string]string{":443": "https://pay.example.com", ":8443": "https://pay.example.com:8443"} {
		got := mustLoad(t, []string{"--listen", listen, "--acme-domain", "pay.example.com,pay.example.org", "--data", "/data"}, nil)
		if got.PublicURL != want || got.ACME.Cache != "/data/acme" {
			t.Errorf("--listen %s: the public URL is %s, and certificates are kept in %s", listen, got.PublicURL, got.ACME.Cache)
		}
	}
}

func TestSettingsOfTLSThatDoNotFitAreRefused(t *testing.T) {
	for _, line := range []string{
		"--tls-cert pay.crt",
		"--tls-key pay.key",
		"--tls-cert pay.crt --tls-key pay.key --acme-domain pay.example.com",
		"--tls-cert pay.crt --tls-key pay.key --public-url http://pay.example.com",
		"--http-listen :80",
		"--acme-domain pay.example.com --http-listen nonsense",
		"--acme-domain localhost",
		"--acme-domain 192.0.2.1",
		"--acme-domain *.example.com",
		"--acme-domain https://pay.example.com",
		"--acme-domain pay.example.com --acme-directory-url http://acme.example.com",
		"--acme-domain pay.example.com --database-url postgres://db.internal/bursar",
	} {
		if _, err := load(strings.Fields(line), nil); err == nil {
			t.Errorf("%s was accepted", line)
		}
	}
}

func TestFlagBeatsVariable(t *testing.T) {
	got := mustLoad(t, []string{"--listen", "127.0.0.1:1"}, map[string]string{"BURSAR_LISTEN": "127.0.0.1:2"})
	if got.Listen != "127.0.0.1:1" {
		t.Errorf("the variable won: %s", got.Listen)
	}
}

func TestEmptyVariableLeavesTheDefault(t *testing.T) {
	if got := mustLoad(t, nil, map[string]string{"BURSAR_RATE_LIMIT": ""}); got.RateLimit != "50/s" {
		t.Errorf("rate limit is %q", got.RateLimit)
	}
}

func TestBadVariableIsNamed(t *testing.T) {
	_, err := load(nil, map[string]string{"BURSAR_KEY_SESSION_TTL": "soon"})
	if err == nil || !strings.Contains(err.Error(), "BURSAR_KEY_SESSION_TTL") {
		t.Errorf("got %v", err)
	}
}

func TestPublicURLHasNoSlashAtItsEnd(t *testing.T) {
	if got := mustLoad(t, []string{"--public-url", "https://pay.example.com/"}, nil); got.PublicURL != "https://pay.example.com" {
		t.Errorf("public URL is %s", got.PublicURL)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	for name, values := range map[string][]string{
		"rate-limit":         {"", "50", "50/h", "0/s", "-1/s", "1.5/s", "fast", "50/s/s", "1000001/s", "Off"},
		"public-url":         {"pay.example.com", "ftp://pay.example.com", "https://", "https://pay.example.com/?q=1", "https://pay.example.com/#top", "://"},
		"trusted-proxies":    {"10.0.0.1", "10.0.0.0/33", "proxy", "10.0.0.0/8,nonsense"},
		"device-session-ttl": {"59s", "0", "-1h", "soon"},
		"key-session-ttl":    {"59s", "0", "-1h", "soon"},
		"web-session-ttl":    {"59s", "0", "soon"},
		"web-session-idle":   {"59s", "0", "soon"},
		"oidc-issuer":        {"https://id.example.com"}, // without a client
		"oidc-client-id":     {"bursar"},                 // without an issuer
		"smtp-url":           {"smtp://mail.example.com", "http://mail.example.com", "mail.example.com"},
		"mail-from":          {"bursar@example.com", "nonsense"},
		"drain-delay":        {"-1s", "soon"},
		"drain-timeout":      {"-1s", "soon"},
		"metrics-listen":     {"nonsense", "127.0.0.1", "127.0.0.1:99999"},
		"listen":             {"nonsense", "127.0.0.1", "127.0.0.1:notaport", "127.0.0.1:99999"},
	} {
		for _, value := range values {
			t.Run(name+"="+value, func(t *testing.T) {
				if _, err := load([]string{"--" + name + "=" + value}, nil); err == nil {
					t.Error("it was accepted")
				} else if strings.Contains(err.Error(), "config.") {
					t.Errorf("the error is written for programmers: %v", err)
				}
			})
		}
	}
}

func TestProviderMustBeReachedByTLS(t *testing.T) {
	for issuer, good := range map[string]bool{
		"https://id.example.com": true, "http://localhost:8000": true, "http://127.0.0.1:8000": true, "http://[::1]:8000": true,
		"http://id.example.com": false, "id.example.com": false, "https://": false,
	} {
		if _, err := load([]string{"--oidc-issuer", issuer, "--oidc-client-id", "bursar"}, nil); (err == nil) != good {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

func TestNoErrorRepeatsThePasswordOfTheMailServer(t *testing.T) {
	if _, err := load([]string{"--smtp-url", "smtp://me:hunter2@mail.example.com:nonsense", "--mail-from", "bursar@example.com"}, nil); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]config.Rate{
		"off":   {Off: true},
		"50/s":  {PerSecond: 50, Burst: 100},
		"1/s":   {PerSecond: 1, Burst: 2},
		"600/m": {PerSecond: 10, Burst: 1200},
	} {
		s := config.Serve{RateLimit: text}
		if got, err := s.Rate(); err != nil || got != want {
			t.Errorf("%s is %+v, want %+v: %v", text, got, want, err)
		}
	}
}

func TestDatabaseURLWinsOverTheFolder(t *testing.T) {
	s := config.Store{Data: "/data", DatabaseURL: "postgres://db.internal/bursar"}
	if got := s.DB(); got.URL != s.DatabaseURL || got.Dir != "" {
		t.Errorf("the store is %+v", got)
	}
	s.DatabaseURL = ""
	if got := s.DB(); cmp.Diff(db.Config{Dir: "/data"}, got) != "" {
		t.Errorf("the store is %+v", got)
	}
}

func TestAReplicaGoesWithPostgreSQL(t *testing.T) {
	replica := map[string]string{"BURSAR_DATABASE_READ_URL": "postgres://standby.internal/bursar"}
	if _, err := load(nil, replica); err == nil || !strings.Contains(err.Error(), "the embedded database has no standby") {
		t.Errorf("without PostgreSQL: %v", err)
	}
	if got := mustLoad(t, []string{"--data", "/data"}, replica); got.DatabaseReadURL != "" {
		t.Error("a folder on the command line does not override the replica of the environment")
	}
	_, err := load([]string{"--database-url", "postgres://db.internal/bursar", "--database-read-url", "mysql://me:hunter2@standby.internal/bursar"}, nil)
	if err == nil || !strings.Contains(err.Error(), "--database-read-url") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the address of another database: %v", err)
	}
}
