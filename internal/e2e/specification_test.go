package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
)

// specified is a client that knows the interface specification alone: its paths, its fields and its envelope.
type specified struct {
	t           *testing.T
	base, token string
}

// call sends a request, demands the status 200 and the envelope, and returns `data`.
func (c *specified) call(method, path string, content any) (data json.RawMessage, envelope map[string]json.RawMessage) {
	c.t.Helper()
	var sent bytes.Buffer
	if content != nil {
		if err := json.NewEncoder(&sent).Encode(content); err != nil {
			c.t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, &sent)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	err = json.NewDecoder(response.Body).Decode(&envelope)
	if err != nil || response.StatusCode != http.StatusOK || string(envelope["ok"]) != "true" {
		c.t.Fatalf("%s %s is answered %d %s: %v", method, path, response.StatusCode, envelope, err)
	}
	return envelope["data"], envelope
}

// object is call for an answer that is one object with these texts, and returns them.
func (c *specified) object(method, path string, content any, fields ...string) map[string]string {
	c.t.Helper()
	data, _ := c.call(method, path, content)
	return c.texts(method+" "+path, data, fields)
}

// list is call for an answer that is a list of objects with these texts, and returns those of the object whose first text is key.
func (c *specified) list(path, key string, fields ...string) map[string]string {
	c.t.Helper()
	data, _ := c.call("GET", path, nil)
	return c.among(path, data, key, fields)
}

// page is list for an answer that comes in pages.
func (c *specified) page(path, key string, fields ...string) map[string]string {
	c.t.Helper()
	data, envelope := c.call("GET", path, nil)
	if more := string(envelope["has_more"]); more != "true" && more != "false" {
		c.t.Errorf("GET %s says that it has more: %q", path, more)
	}
	return c.among(path, data, key, fields)
}

func (c *specified) among(path string, data json.RawMessage, key string, fields []string) map[string]string {
	c.t.Helper()
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		c.t.Fatalf("GET %s answers %s", path, data)
	}
	for _, row := range rows {
		if found := c.texts("GET "+path, row, fields); found[fields[0]] == key {
			return found
		}
	}
	c.t.Fatalf("GET %s has no %s: %s", path, key, data)
	return nil
}

func (c *specified) texts(what string, data json.RawMessage, fields []string) map[string]string {
	c.t.Helper()
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		c.t.Fatalf("%s answers %s", what, data)
	}
	texts := map[string]string{}
	for _, field := range fields {
		text, is := object[field].(string)
		if !is {
			c.t.Errorf("%s answers without %s: %s", what, field, data)
		}
		texts[field] = text
	}
	return texts
}

// The specification knows no scopes, sign-ins and second persons: its client has a key of init, and is alone.
func TestAClientOfTheSpecificationWorksWithTheKeyOfInit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		c := &specified{t: t, base: start(t, store).URL + "/v1", token: made.APIKey}
		c.token = c.object("POST", "/auth/token", nil, "user_id", "token")["token"]
		me := c.object("GET", "/auth/me", nil, "id", "email", "name")
		workspace := c.list("/workspaces", "Treasury", "name", "id", "slug")["id"]
		organization := c.list("/organizations", "Acme", "name", "id", "slug")["id"]
		c.object("GET", "/workspaces/"+workspace, nil, "id", "name", "slug")
		c.object("GET", "/organizations/"+organization, nil, "id", "name", "slug")

		t.Run("directory", func(t *testing.T) {
			c := &specified{t, c.base, c.token}
			fields := map[string]any{"first-name": "Ada", "email": "ada@payee.example"}
			entry := c.object("POST", "/directory", map[string]any{"workspace_id": workspace, "type": "person", "name": "Ada",
				"label": "Ada", "tags": []string{"vip"}, "fields": fields}, "id")["id"]
			c.page("/directory?limit=100&type=person&status=active&workspace_id="+workspace, entry, "id", "type", "label", "status")
			c.list("/directory/tags?workspace_id="+workspace, "vip", "name", "id", "applies_to")
			c.object("PATCH", "/directory/"+entry, map[string]any{"name": "Eve", "label": "Eve", "status": "inactive", "tags": []string{},
				"fields": map[string]any{"last-name": "Lovelace"}}, "id")
			got := c.object("GET", "/directory/"+entry, nil, "id", "type", "label", "status")
			if got["label"] != "Eve" || got["status"] != "inactive" {
				t.Errorf("the entry is %v", got)
			}
			data, _ := c.call("DELETE", "/directory/"+entry, nil)
			if !strings.Contains(string(data), `"deleted":true`) {
				t.Errorf("the deletion answers %s", data)
			}
		})
		t.Run("members and roles", func(t *testing.T) {
			c := &specified{t, c.base, c.token}
			c.list("/workspaces/"+workspace+"/roles", "admin", "key", "name", "color")
			for _, role := range []string{"viewer", "admin"} {
				email := role + "@example.com"
				members, roles := "/workspaces/"+workspace+"/members", "/workspaces/"+workspace+"/roles"
				c.object("POST", members, map[string]any{"email": email, "role": role}, "workspace_id", "email", "role")
				id := c.list(members, email, "email", "id")["id"]
				given := map[string]any{"user_id": id, "role": "disbursement_authorizer"}
				c.object("POST", roles, given, "workspace_id", "user_id", "role")
				c.object("DELETE", roles+"/"+id+"/disbursement_authorizer", nil, "workspace_id", "user_id", "role")
				c.object("DELETE", members+"/"+id, nil, "workspace_id", "user_id")
			}
		})
		t.Run("settings and the log", func(t *testing.T) {
			c := &specified{t, c.base, c.token}
			settings := "/organizations/" + organization + "/settings"
			c.object("GET", settings, nil, "id", "name", "slug")
			got := c.object("PATCH", settings, map[string]any{"name": "Acme Power", "slug": "acme-power"}, "id", "name", "slug")
			if got["slug"] != "acme-power" {
				t.Errorf("the settings are %v", got)
			}
			const assigned = "iam.member.role_assigned"
			c.page("/audit?limit=100&actor="+me["id"]+"&action="+assigned+"&resource_type=member&workspace_id="+workspace, assigned,
				"action", "id", "actor_name", "actor_email", "description", "outcome")
		})
		t.Run("login by a device code", func(t *testing.T) {
			program, person := &specified{t, c.base, ""}, &specified{t, c.base, c.token}
			_, asked := program.call("POST", "/auth/device-code", map[string]any{"intent": "login"})
			code := strings.Trim(string(asked["code"]), `"`)
			if len(code) != 6 || asked["verification_url"] == nil || asked["expires_at"] == nil {
				t.Fatalf("the device code is %s", asked)
			}
			for _, status := range []string{"pending", "approved"} {
				_, polled := program.call("GET", "/auth/device-code/"+code, nil)
				if string(polled["status"]) != `"`+status+`"` || (polled["token"] != nil) != (status == "approved") {
					t.Errorf("the status is %s", polled)
				}
				program.token = strings.Trim(string(polled["token"]), `"`)
				if status == "pending" {
					person.call("POST", "/auth/device-code/"+code+"/approve", nil) // as the page does to which the person is sent
				}
			}
			program.object("GET", "/auth/me", nil, "id", "email", "name")
		})
	})
}
