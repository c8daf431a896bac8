package client

import "time"

// String is a pointer to a text, for parameters that may be left out.
func String(text string) *string { return &text }

// Bool is a pointer to a truth value, for parameters that may be left out.
func Bool(value bool) *bool { return &value }

// Duration is a pointer to a duration, for parameters that may be left out.
func Duration(d time.Duration) *time.Duration { return &d }
