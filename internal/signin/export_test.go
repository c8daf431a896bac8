package signin

import "bursar/internal/fault"

// CheckPassword says what is wrong with a new password.
func CheckPassword(password, email string) error {
	var v fault.Violations
	checkPassword(&v, password, email)
	return v.Err()
}

// Crowd takes all places before the hasher, so that whoever needs it is turned
// away, and returns what empties them again.
func (s *Service) Crowd() (leave func()) {
	for range maxWaiting {
		s.hasher.queue <- struct{}{}
	}
	return func() {
		for range maxWaiting {
			<-s.hasher.queue
		}
	}
}
