package term

import "fmt"

// UsageError is the error of an invalid command line. The program then exits with code 2 and points to the help.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage marks an error as a usage error.
func Usage(err error) error { return UsageError{err} }

// Usagef returns a usage error from a format, like fmt.Errorf.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
