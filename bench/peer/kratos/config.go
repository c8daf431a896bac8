package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// settings differ from one run to the next.
type settings struct {
	dir    string
	dsn    string
	public string // host:port
	admin  string // host:port
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.StringVar(&s.dir, "dir", "", "directory of the configuration")
	flags.StringVar(&s.dsn, "dsn", "", "sqlite:// or postgres:// address of the database")
}

// There is no verification and no recovery: they would give each identity rows in more tables.
const identitySchema = `{
  "$id": "https://bursar.example/person.schema.json",
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "Person",
  "type": "object",
  "properties": {
    "traits": {
      "type": "object",
      "properties": {
        "email": {
          "type": "string",
          "format": "email",
          "ory.sh/kratos": {"credentials": {"password": {"identifier": true}}}
        },
        "name": {"type": "string"}
      },
      "required": ["email"],
      "additionalProperties": false
    }
  }
}
`

// The check of passwords would ask a server on the internet. The hook gives a session to
// all new users. The values are JSON, which is valid YAML.
const configuration = `dsn: %s
log:
  level: error
serve:
  public: %s
  admin: %s
selfservice:
  default_browser_return_url: http://127.0.0.1/
  methods:
    password:
      enabled: true
      config:
        haveibeenpwned_enabled: false
  flows:
    registration:
      after:
        password:
          hooks:
            - hook: session
identity:
  default_schema_id: person
  schemas:
    - id: person
      url: %s
secrets:
  default:
    - bursar-benchmark-secret
session:
  lifespan: 720h
`

// write writes the files of the configuration and returns the path of the main one.
func (s *settings) write() (string, error) {
	if s.dir == "" || s.dsn == "" {
		return "", fmt.Errorf("--dir and --dsn are needed")
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", s.dir, err)
	}
	public, err := listener(s.public)
	if err != nil {
		return "", fmt.Errorf("public address: %w", err)
	}
	admin, err := listener(s.admin)
	if err != nil {
		return "", fmt.Errorf("admin address: %w", err)
	}
	schema := filepath.Join(dir, "person.schema.json")
	config := fmt.Sprintf(configuration, quote(s.dsn), public, admin, quote("file://"+schema))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory: %w", err)
	}
	if err := os.WriteFile(schema, []byte(identitySchema), 0o644); err != nil {
		return "", fmt.Errorf("write the schema: %w", err)
	}
	path := filepath.Join(dir, "kratos.yml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return path, nil
}

func listener(address string) (string, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", address, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return "", fmt.Errorf("read the port of %q: %w", address, err)
	}
	return fmt.Sprintf(`{host: %s, port: %d, base_url: %s}`, quote(host), port, quote("http://"+address+"/")), nil
}

func quote(s string) string {
	text, _ := json.Marshal(s) // a string has no error
	return string(text)
}
