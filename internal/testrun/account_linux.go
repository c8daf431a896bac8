package main

import (
	"syscall"
	"unsafe"
)

// account makes the kernel write a record of each process that ends to a file. An empty name stops
// that.
func account(file string) error {
	var name *byte
	if file != "" {
		var err error
		if name, err = syscall.BytePtrFromString(file); err != nil {
			return err
		}
	}
	if _, _, code := syscall.Syscall(syscall.SYS_ACCT, uintptr(unsafe.Pointer(name)), 0, 0); code != 0 {
		return code
	}
	return nil
}
