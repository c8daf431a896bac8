package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// machine describes the computer: processor, cores, memory, system, Go.
func machine() string {
	parts := []string{processor(), fmt.Sprintf("%d cores", runtime.NumCPU())}
	if memory := field("/proc/meminfo", "MemTotal"); memory != "" {
		if kib, err := strconv.ParseFloat(strings.TrimSuffix(memory, " kB"), 64); err == nil {
			parts = append(parts, fmt.Sprintf("%.0f GiB", kib/(1<<20)))
		}
	}
	system := runtime.GOOS
	if release, err := exec.Command("uname", "-sr").Output(); err == nil {
		system = strings.TrimSpace(string(release))
	}
	return strings.Join(append(parts, system, runtime.Version()), ", ")
}

func processor() string {
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		return model
	}
	return runtime.GOARCH
}

// field returns the first value of a name in a file of "name : value" lines.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
