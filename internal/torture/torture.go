// Package torture determines how often a test repeats itself.
package torture

import (
	"flag"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Rounds returns few in make test, a quarter of few in make check, and many in make torture, which runs for hours. A
// test uses it for the number of repetitions: crashes, random histories, rows.
func Rounds(few, many int) int {
	switch {
	case os.Getenv("BURSAR_TORTURE") != "":
		return many
	case testing.Short():
		return min(few, max(1, few/4))
	}
	return few
}

// Within returns a function that reports whether there is time for another round: little CPU time in make test, a quarter of it in
// make check, and much in make torture. It counts the CPU time of the whole process, so the test must not run in parallel with
// others.
func Within(little, much time.Duration) (more func() bool) {
	end := used() + time.Duration(Rounds(int(little), int(much)))
	return func() bool { return used() < end }
}

// used returns the CPU time that this process has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// given are the flags on the command line. It reads them once: later, those that Rapid has set look as if they had been given.
var given = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
})

// Rapid sets how many histories package rapid draws, see Rounds, and how many steps each has, unless the command line does.
func Rapid(t testing.TB, few, many, steps int) {
	t.Helper()
	for name, value := range map[string]string{
		"rapid.checks": strconv.Itoa(Rounds(few, many)), "rapid.steps": strconv.Itoa(steps), "rapid.nofailfile": "true",
	} {
		if given()[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}
