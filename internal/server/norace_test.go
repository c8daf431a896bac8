//go:build !race

package server_test

const raceAllocations = 0
