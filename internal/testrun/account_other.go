//go:build !linux

package main

import "errors"

// account fails, because only Linux has process accounting.
func account(string) error { return errors.ErrUnsupported }
