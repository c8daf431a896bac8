package cli

import (
	"context"
	"iter"
	"sync"
)

// ahead is how many items for each worker are read before the oldest is done with.
const ahead = 16

type job[A, B any] struct {
	in   A
	out  B
	err  error
	done chan struct{}
}

// inOrder works on items in parallel and emits the results in the order of the
// items. However long the source is, only so many items are held at a time. The
// first error ends it; what was under way is still worked on and emitted.
func inOrder[A, B any](ctx context.Context, parallel int, source iter.Seq2[A, error],
	work func(context.Context, A) (B, error), emit func(B) error) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *job[A, B], parallel*ahead)
	tasks := make(chan *job[A, B])
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for j := range tasks {
				j.out, j.err = work(limited, j.in)
				close(j.done)
			}
		})
	}
	var cut error
	go func() {
		defer close(queue)
		defer close(tasks)
		cut = feed(limited, source, queue, tasks)
	}()
	var first error
	for j := range queue {
		<-j.done
		err := j.err
		if err == nil {
			err = emit(j.out)
		}
		if err != nil && first == nil {
			first = err
			cancel()
		}
	}
	workers.Wait()
	if first == nil {
		first = cut
	}
	return first
}

// feed hands items to the workers, and to whoever waits for them in order.
func feed[A, B any](ctx context.Context, source iter.Seq2[A, error], queue, tasks chan<- *job[A, B]) error {
	for item, err := range source {
		if err != nil {
			return err
		}
		j := &job[A, B]{in: item, done: make(chan struct{})}
		select {
		case queue <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case tasks <- j:
		case <-ctx.Done():
			j.err = ctx.Err()
			close(j.done)
			return ctx.Err()
		}
	}
	return nil
}
