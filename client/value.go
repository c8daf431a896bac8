package client

import "time"

// String returns a pointer to a string, for optional parameters.
func String(text string) *string { return &text }

// Bool returns a pointer to a bool, for optional parameters.
func Bool(value bool) *bool { return &value }

// Duration returns a pointer to a duration, for optional parameters.
func Duration(d time.Duration) *time.Duration { return &d }
