//go:build !linux

package main

import "errors"

// account is what only Linux has.
func account(string) error { return errors.ErrUnsupported }
