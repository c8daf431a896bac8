package signin

import "bursar/internal/fault"

// CheckPassword says what is wrong with a new password.
func CheckPassword(password, email string) error {
	var v fault.Violations
	checkPassword(&v, password, email)
	return v.Err()
}

// Crowd takes all turns of the hasher and leaves no room to wait, so that anyone who needs
// it is turned away, and returns what ends that.
func (s *Service) Crowd() (leave func()) {
	held := s.Hold()
	s.hasher.queue.most = 0
	return func() {
		s.hasher.queue.most = maxWaiting
		held()
	}
}

// Hold takes all turns of the hasher, so that anyone who needs one waits, and returns what
// gives them back.
func (s *Service) Hold() (release func()) {
	free := s.hasher.queue.free
	s.hasher.queue.free = 0
	return func() {
		for range free {
			s.hasher.queue.end()
		}
	}
}

// Room bounds how many can wait for the hasher.
func (s *Service) Room(most int) { s.hasher.queue.most = most }

// Waiting is how many do.
func (s *Service) Waiting() int {
	s.hasher.queue.mu.Lock()
	defer s.hasher.queue.mu.Unlock()
	return s.hasher.queue.count
}

// Line is a queue of networks that wait for one hasher, which is taken.
type Line struct {
	queue *fairQueue
	turn  map[string][]chan bool
}

// NewLine returns a queue with room for so many, in which no one waits.
func NewLine(most int) *Line {
	l := &Line{queue: newFairQueue(0), turn: map[string][]chan bool{}}
	l.queue.most = most
	return l
}

// Join adds a caller from a network of a region, and reports whether there was room.
func (l *Line) Join(region, network string) bool {
	turn := make(chan bool, 1)
	l.turn[network] = append(l.turn[network], turn)
	return l.queue.join(region, network, turn)
}

// Waiting is how many wait.
func (l *Line) Waiting() int { return l.queue.count }

// Next ends a turn and returns the network that has the next one.
func (l *Line) Next() string {
	l.queue.end()
	for network, waiting := range l.turn {
		for _, turn := range waiting {
			select {
			case mine := <-turn:
				if mine {
					return network
				}
			default:
			}
		}
	}
	return "none"
}
