package auditlog

import "sync/atomic"

// health is the state of the log that an operator monitors.
type health struct {
	size, at atomic.Int64 // of the newest head; at is in Unix milliseconds
	failures [len(steps)]atomic.Int64
}

// steps are the steps that can fail between a row and a published checkpoint.
var steps = [...]string{"sequence", "tree", "sign", "file", "mail", "witness"}

func (h *health) fail(step string) {
	for i, name := range steps {
		if name == step {
			h.failures[i].Add(1)
		}
	}
}

// Health returns the size of the newest head, when it was made in Unix milliseconds (0
// before there is one), and how often each step has failed.
func (s *Signer) Health() (size, at int64, failures map[string]int64) {
	failures = map[string]int64{}
	for i, name := range steps {
		failures[name] = s.health.failures[i].Load()
	}
	return s.health.size.Load(), s.health.at.Load(), failures
}
