package run

import (
	"sync"
	"time"

	"bursar/bench/report"
	"bursar/bench/subject"
)

// watch samples the memory of a server each second.
type watch struct {
	stop    chan struct{}
	done    sync.WaitGroup
	samples []float64
	err     error
}

func watchMemory(server *subject.Server) *watch {
	w := &watch{stop: make(chan struct{})}
	w.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
			memory, err := server.Memory()
			if err != nil {
				w.err = err
				return
			}
			w.samples = append(w.samples, float64(memory.Now))
		}
	})
	return w
}

func (w *watch) end() ([]float64, error) {
	close(w.stop)
	w.done.Wait()
	return w.samples, w.err
}

// growth is how much higher the memory is at the end than when the load was new: the
// highest of the last five seconds against the highest of the first ten. A load of
// less than two seconds does not tell.
func growth(samples []float64) (ratio float64, ok bool) {
	if len(samples) < 2 {
		return 0, false
	}
	first := samples[:min(10, len(samples)/2)]
	last := samples[len(samples)-min(5, len(samples)/2):]
	return report.SpreadOf(last).Max / report.SpreadOf(first).Max, true
}
