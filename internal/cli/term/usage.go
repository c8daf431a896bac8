package term

import "fmt"

// UsageError reports a command line that cannot be run as it was typed. The program
// then exits with code 2 and points to the help.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage marks an error as a usage error.
func Usage(err error) error { return UsageError{err} }

// Usagef makes a usage error from a format, as fmt.Errorf does.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
