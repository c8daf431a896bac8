package signin

import "bursar/internal/fault"

// CheckPassword says what is wrong with a new password.
func CheckPassword(password, email string) error {
	var v fault.Violations
	checkPassword(&v, password, email)
	return v.Err()
}

// Crowd takes all turns of the hasher and leaves no room to wait, so that whoever needs
// it is turned away, and returns what ends that.
func (s *Service) Crowd() (leave func()) {
	held := s.Hold()
	s.hasher.turns.most = 0
	return func() {
		s.hasher.turns.most = maxWaiting
		held()
	}
}

// Hold takes all turns of the hasher, so that whoever needs one waits, and returns what
// gives them back.
func (s *Service) Hold() (release func()) {
	free := s.hasher.turns.free
	s.hasher.turns.free = 0
	return func() {
		for range free {
			s.hasher.turns.end()
		}
	}
}

// MaxWaiting is how many can wait for the hasher.
const MaxWaiting = maxWaiting

// Waiting is how many do.
func (s *Service) Waiting() int {
	s.hasher.turns.mu.Lock()
	defer s.hasher.turns.mu.Unlock()
	return s.hasher.turns.count
}

// Line is a line of networks that wait for one hasher, which is taken.
type Line struct {
	turns *turns
	turn  map[string][]chan bool
}

// NewLine returns a line in which nobody waits.
func NewLine() *Line { return &Line{turns: newTurns(0), turn: map[string][]chan bool{}} }

// Join adds somebody from a network.
func (l *Line) Join(network string) {
	turn := make(chan bool, 1)
	l.turns.join(network, turn)
	l.turn[network] = append(l.turn[network], turn)
}

// Next ends a turn and returns the network that has the next one.
func (l *Line) Next() string {
	l.turns.end()
	for network, waiting := range l.turn {
		for _, turn := range waiting {
			select {
			case <-turn:
				return network
			default:
			}
		}
	}
	return "nobody"
}
