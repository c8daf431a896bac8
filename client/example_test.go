package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"bursar/api"
	"bursar/client"
)

// Sign in with an API key and see who you are. The key is exchanged for a session
// by itself.
func Example() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()

	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}
	me, err := c.Auth.Me(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(me.Name, me.Email)
	// Output: Ada Lovelace ada@example.com
}

// Make, change and read an entry of the directory. What is not given stays as it
// is, and a field whose value is nil is removed.
func ExampleDirectoryService_Create() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}

	created, err := c.Directory.Create(ctx, client.EntryCreateParams{
		WorkspaceID: server.WorkspaceID,
		Type:        client.TypePerson,
		Fields: client.Fields{
			client.TextField("first-name", "Grace"), client.TextField("last-name", "Hopper"), client.TextField("phone", "+1 555 0100"),
		},
		Tags: []string{"contractor"},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Directory.Update(ctx, created.ID, client.EntryUpdateParams{
		Fields: client.Fields{client.NullField("phone")},
		Status: client.String(client.StatusInactive),
	})
	if err != nil {
		log.Fatal(err)
	}
	entry, err := c.Directory.Get(ctx, created.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Label, entry.Status, entry.Tags, entry.Fields)
	// Output: Grace Hopper inactive [contractor] {"first-name":"Grace","last-name":"Hopper"}
}

// Walk over a whole directory. Pages are read as they are needed; break whenever
// you like.
func ExampleDirectoryService_All() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"Ada", "Grace", "Edsger"} {
		_, err := c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: server.WorkspaceID, Type: client.TypePerson, Name: &name})
		if err != nil {
			log.Fatal(err)
		}
	}

	for entry, err := range c.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: server.WorkspaceID}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Label)
	}
	// Output:
	// Edsger
	// Grace
	// Ada
}

// Read one page at a time, for example to show it.
func ExampleAuditService_List() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"contractor", "supplier"} {
		if _, err := c.Tags.Create(ctx, client.TagCreateParams{WorkspaceID: server.WorkspaceID, Name: name}); err != nil {
			log.Fatal(err)
		}
	}

	page, err := c.Audit.List(ctx, client.AuditListParams{
		WorkspaceID: server.WorkspaceID,
		From:        time.Now().Add(-time.Hour),
		Limit:       1,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range page.Items {
		fmt.Println(row.Action, row.ActorName, row.Outcome)
	}
	fmt.Println("more:", page.HasMore)
	// Output:
	// directory.tag.created Ada Lovelace success
	// more: true
}

// Decide by the code of an error, and show what is wrong with a request.
func ExampleError() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}

	_, err = c.Directory.Get(ctx, "entry_unknown")
	fmt.Println("not found:", client.IsNotFound(err))

	_, err = c.Directory.List(ctx, client.DirectoryListParams{WorkspaceID: server.WorkspaceID, Limit: 1000})
	var refused *client.Error
	if errors.As(err, &refused) && refused.Code == api.CodeValidation {
		for _, wrong := range refused.Fields() {
			fmt.Println(wrong.Field, wrong.Constraint)
		}
	}
	// Output:
	// not found: true
	// limit must be an integer from 1 to 100
}

// Give a change a key of your own where it may be repeated by another process: it
// happens once.
func ExampleWithIdempotencyKey() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}

	line := client.WithIdempotencyKey(ctx, "people.csv:17")
	params := client.EntryCreateParams{WorkspaceID: server.WorkspaceID, Type: client.TypePerson, Name: new("Ada")}
	first, err := c.Directory.Create(line, params)
	if err != nil {
		log.Fatal(err)
	}
	again, err := c.Directory.Create(line, params)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.ID == again.ID)
	// Output: true
}

// Sign someone in who has a browser elsewhere. Here the admin approves at once;
// otherwise wait code.Interval seconds between two polls.
func ExampleAuthService_DeviceCode() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	stranger, err := client.New(server.url)
	if err != nil {
		log.Fatal(err)
	}

	verifier, challenge := client.NewCodeVerifier()
	code, err := stranger.Auth.DeviceCode(ctx, "payroll tool", challenge)
	if err != nil {
		log.Fatal(err)
	}
	// Show code.Code and code.VerificationURL to the person who is to sign in.

	admin, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := admin.Auth.ApproveDevice(ctx, code.Code); err != nil {
		log.Fatal(err)
	}

	status, err := stranger.Auth.PollDeviceCode(ctx, code.Code, verifier)
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.New(server.url, client.WithToken(status.Token))
	if err != nil {
		log.Fatal(err)
	}
	me, err := c.Auth.Me(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Status, me.Name)
	// Output: approved Ada Lovelace
}

// Call a path by its name, for what has no method yet.
func ExampleClient_Do() {
	server := startServer()
	defer server.stop()
	ctx := context.Background()
	c, err := client.New(server.url, client.WithAPIKey(server.APIKey))
	if err != nil {
		log.Fatal(err)
	}

	var workspaces []struct{ Name, Slug string }
	response, err := c.Do(ctx, "GET", "/workspaces", nil, &workspaces)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, workspaces)
	// Output: 200 [{Treasury treasury}]
}
