// Package client is the Go client of Bursar: every operation of its API as a
// method, with typed parameters, answers and errors.
//
// # Quick start
//
// Make one [Client] and share it: it is safe for use by many goroutines. Give it
// a credential, and it signs in by itself when first needed and again whenever
// the session ends.
//
//	c, err := client.New("https://bursar.example", client.WithAPIKey(os.Getenv("BURSAR_API_KEY")))
//	if err != nil {
//		return err
//	}
//	for entry, err := range c.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: ws}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(entry.ID, entry.Label)
//	}
//
// # Parameters
//
// Where leaving something out differs from making it empty, a parameter is a
// pointer: nil leaves it as it is. [String], [Bool] and [Duration] make one of a
// constant. Times are [time.Time] in parameters and Unix milliseconds in answers.
//
// # Lists
//
// List reads one [Page], All walks over all of them:
//
//	page, err := c.Audit.List(ctx, client.AuditListParams{WorkspaceID: ws, Limit: 50})
//	for row, err := range c.Audit.All(ctx, client.AuditListParams{WorkspaceID: ws}) { … }
//
// The directory, the audit log and one's own activity always come in pages. API
// keys, tags, workspaces, members, roles and organizations come as one whole list
// unless [ListParams] asks for pages.
//
// # Errors
//
// Whatever the server refuses is an [*Error]: decide by its Code or with
// [IsNotFound], [IsForbidden], [IsUnauthorized] and [IsRateLimited].
//
//	var refused *client.Error
//	if errors.As(err, &refused) && refused.Code == client.CodeSlugTaken { … }
//
// Any other error means that no answer came, such as a failed connection or a
// context that is done; those wrap their cause.
//
// # Repeating
//
// A request that fails on the way, or is answered with 429, 500, 502, 503 or
// 504, is repeated up to three times, with growing, random pauses or after as long
// as Retry-After says. Every change carries an idempotency key that is made once
// for the call, so that a repeat can never do it twice. Choose the key yourself
// with [WithIdempotencyKey] where a repeat may come from another process, such as
// an import that is resumed. What could not be repeated safely is not repeated.
package client
