// Package client is the Go client of Bursar. Every operation of the API is a method with typed parameters, results and errors.
//
// # Quick start
//
// Create one [Client] and share it: it is safe for concurrent use. With a credential, it signs in on first use, and again whenever the
// session ends.
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
// An optional parameter is a pointer, and nil omits it. new("text") returns a pointer to a constant, and so do [String], [Bool] and
// [Duration]. The fields of an entry are [Fields], which keep their order. Create them with [TextField], or from a map, a struct or JSON
// with [FieldsOf] and [ParseFields]. Times are [time.Time] in parameters and Unix milliseconds in results.
//
// # Lists
//
// List reads one [Page]. All iterates over all pages:
//
//	page, err := c.Audit.List(ctx, client.AuditListParams{WorkspaceID: ws, Limit: 50})
//	for row, err := range c.Audit.All(ctx, client.AuditListParams{WorkspaceID: ws}) { … }
//
// The directory, the audit log and the caller's activity are always paged. API keys, tags, workspaces, members, roles and organizations are
// one whole list unless [ListParams] asks for pages.
//
// # Errors
//
// An error response of the server is an [*Error]. Test its Code, or use [IsNotFound], [IsForbidden], [IsUnauthorized] and [IsRateLimited].
//
//	var refused *client.Error
//	if errors.As(err, &refused) && refused.Code == api.CodeSlugTaken { … }
//
// Any other error means that there was no response, for example because the connection failed or the context was done. It wraps its cause.
//
// # Retries
//
// A request is retried up to three times if its connection fails or the status is 429, 500, 502, 503 or 504. The pause before a retry is
// random and grows, or follows Retry-After. Every change has an idempotency key, which all attempts of a call share, so a retry never
// repeats the change. If a retry may come from another process, such as a resumed import, set the key with [WithIdempotencyKey]. Calls that
// are not safe to retry are not retried.
package client
