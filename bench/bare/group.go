package bare

// grouper commits all waiting creates in one transaction.
type grouper struct {
	commit func(group []*job) error
	queue  chan *job
	done   chan struct{}
}

type job struct {
	fields string // of an entry
	id     string // of what was created
	err    error
	done   chan struct{}
}

func newGrouper(commit func(group []*job) error) *grouper {
	g := &grouper{commit: commit, queue: make(chan *job, 512), done: make(chan struct{})}
	go g.loop()
	return g
}

func (g *grouper) create(fields string) (id string, err error) {
	j := &job{fields: fields, done: make(chan struct{})}
	g.queue <- j
	<-j.done
	return j.id, j.err
}

// stop ends the loop. There must be no create after it.
func (g *grouper) stop() {
	close(g.queue)
	<-g.done
}

func (g *grouper) loop() {
	defer close(g.done)
	for first := range g.queue {
		group := []*job{first}
		for len(g.queue) > 0 && len(group) < 256 {
			group = append(group, <-g.queue)
		}
		err := g.commit(group)
		for _, j := range group {
			j.err = err
			close(j.done)
		}
	}
}
