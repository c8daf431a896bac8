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
