package continuous

import (
	"context"
	"fmt"
	"sort"
	"time"
)

// deleteExpired deletes expired segments from the target.
func (s *Shipper) deleteExpired(ctx context.Context, now time.Time) error {
	all, err := list(ctx, s.Target)
	if err != nil {
		return err
	}
	sealed := len(s.Recipients) > 0
	readable := inForm(all, sealed)
	s.checkChain(readable, newestOf(readable).max)
	for _, old := range append(outdated(readable, now, true), outdated(inForm(all, !sealed), now, false)...) {
		if err := s.Target.Delete(ctx, old.name()); err != nil {
			return fmt.Errorf("delete %s from %s: %w", old.name(), s.Target, err)
		}
		s.mu.Lock()
		delete(s.landed, old.name())
		s.mu.Unlock()
	}
	return nil
}

// outdated returns the expired segments. A segment expires after its time if longer segments cover it. After a month, all but
// one base of each month expire; after a year, all do. Segments older than the oldest remaining base expire too. The newest
// base always stays if the backup continues in this form. So does a base without which the next could not be reached.
func outdated(all []segment, now time.Time, goesOn bool) (old []segment) {
	var kept []segment // bases, by number
	byLevel := map[int][]segment{}
	for i, s := range all {
		byLevel[s.level] = append(byLevel[s.level], s)
		if s.level != bases {
			continue
		}
		age := now.Sub(s.object.Time)
		isNewest := goesOn && i+1 == len(all)
		sameMonth := len(kept) > 0 && kept[len(kept)-1].object.Time.UTC().Format("2006-01") == s.object.Time.UTC().Format("2006-01")
		bridges := len(kept) > 0 && !leads(all, kept[len(kept)-1].max, s.max)
		if !isNewest && (age > periods[days].kept || age > periods[hours].kept && sameMonth && !bridges) {
			old = append(old, s)
		} else {
			kept = append(kept, s)
		}
	}
	for _, s := range all {
		if s.level == bases || s.level >= len(periods) {
			continue
		}
		isUseless := len(kept) > 0 && s.max <= kept[0].max
		isCovered := s.level == days
		if longer := byLevel[s.level+1]; !isCovered {
			i := sort.Search(len(longer), func(i int) bool { return longer[i].max >= s.max })
			isCovered = i < len(longer) && longer[i].covers(s)
		}
		if isUseless || isCovered && now.Sub(s.object.Time) > periods[s.level].kept {
			old = append(old, s)
		}
	}
	return old
}
