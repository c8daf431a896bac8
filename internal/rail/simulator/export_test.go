package simulator

// Between lets fn run between the steps of Submit and LookUp.
func (s *Simulator) Between(fn func()) { s.between = fn }
