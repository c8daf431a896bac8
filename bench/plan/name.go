package plan

import "strconv"

// What is measured beside the works of the groups.
const (
	MixedHighest = "mixed/highest"
	MixedHalf    = "mixed/half"
	MemoryIdle   = "memory/idle"
	MemoryLoad   = "memory/load"
	MemoryGrowth = "memory/growth"
	BinarySize   = "size/binary"
	DiskPerEntry = "disk/entry"
)

// StartName is the start of a server over a store of that size.
func StartName(size int) string {
	if size == 0 {
		return "start/empty"
	}
	return "start/" + strconv.Itoa(size)
}

// StartSizes are those of the stores that servers are started on.
func StartSizes(s Sizes) []int {
	if s.Large > 0 {
		return []int{0, s.Large}
	}
	return []int{0}
}
