// Package client is the Go client of Bursar: every operation of its API as a
// method, with typed parameters, answers and errors.
//
// # Quick start
//
// Create one [Client] and share it: it is safe for concurrent use. With a credential it
// signs in by itself when it is first used, and again whenever the session ends.
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
// An optional parameter is a pointer, and nil leaves it out: new("text") makes one of a
// constant, and so do [String], [Bool] and [Duration]. The fields of an entry are
// [Fields], which keep their order: write them with [TextField], or make them from a map,
// a struct or JSON with [FieldsOf] and [ParseFields]. Times are [time.Time] in parameters
// and Unix milliseconds in answers.
//
// # Lists
//
// List reads one [Page], All iterates over all of them:
//
//	page, err := c.Audit.List(ctx, client.AuditListParams{WorkspaceID: ws, Limit: 50})
//	for row, err := range c.Audit.All(ctx, client.AuditListParams{WorkspaceID: ws}) { … }
//
// The directory, the audit log and the caller's activity are always paged. API keys, tags,
// workspaces, members, roles and organizations are one whole list unless [ListParams] asks
// for pages.
//
// # Errors
//
// A refusal by the server is an [*Error]: decide by its Code or with
// [IsNotFound], [IsForbidden], [IsUnauthorized] and [IsRateLimited].
//
//	var refused *client.Error
//	if errors.As(err, &refused) && refused.Code == client.CodeSlugTaken { … }
//
// Any other error means that there was no answer, for example because the connection
// failed or the context was done; it wraps its cause.
//
// # Retries
//
// A request whose connection fails, or that is answered with 429, 500, 502, 503 or 504, is
// retried up to three times, after a growing random pause or as Retry-After says. Every
// change has an idempotency key, which is the same for all attempts of a call, so that a
// retry can never do it twice. Choose the key yourself with [WithIdempotencyKey] if a retry
// may come from another process, such as an import that is resumed. What cannot be retried
// safely is not.
package client
