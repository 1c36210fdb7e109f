package etcdtest

import (
	"io"
	"sync"
	"time"
)

// A chunk is what one read found, and when.
type chunk struct {
	data []byte
	at   time.Time
}

// A queue is what has been read of one direction of a connection and is not
// passed on yet. It never holds more than one buffer's worth: with more a
// sender would think a slow line fast.
type queue struct {
	mu     sync.Mutex
	moved  sync.Cond
	chunks []chunk
	bytes  int
	err    error // why nothing more comes
}

func newQueue() *queue {
	q := &queue{}
	q.moved.L = &q.mu
	return q
}

// fill reads src to its end.
func (q *queue) fill(src io.Reader) {
	buf := make([]byte, chunkBytes)
	for {
		n, err := src.Read(buf[:q.room()])
		q.put(buf[:n], err)
		if err != nil {
			return
		}
	}
}

// room waits until there is some.
func (q *queue) room() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes >= chunkBytes {
		q.moved.Wait()
	}
	return chunkBytes - q.bytes
}

func (q *queue) put(data []byte, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(data) > 0 {
		q.chunks = append(q.chunks, chunk{data: append([]byte{}, data...), at: time.Now()})
		q.bytes += len(data)
	}
	q.err = err
	q.moved.Broadcast()
}

// take waits for the next chunk, or for the end.
func (q *queue) take() (chunk, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.chunks) == 0 && q.err == nil {
		q.moved.Wait()
	}
	if len(q.chunks) == 0 {
		return chunk{}, q.err
	}
	first := q.chunks[0]
	q.chunks = q.chunks[1:]
	return first, nil
}

// passed makes room for n bytes that are gone.
func (q *queue) passed(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= n
	q.moved.Broadcast()
}

// drain takes what still comes, so that whoever fills comes to the end.
func (q *queue) drain() {
	for {
		c, err := q.take()
		if err != nil {
			return
		}
		q.passed(len(c.data))
	}
}

// pauses are those between chunks that were held. They are kept when the chunks
// go on, so that a call is done before its cancellation, which was sent a while
// later, is known; but not all of them, or a stream of heartbeats would be late
// for as long as it was held.
type pauses struct {
	last, thawed time.Time
	left         time.Duration
}

const pausesKept = time.Second

// thaw says that chunks read before now were held.
func (p *pauses) thaw(now time.Time) { p.thawed, p.left = now, pausesKept }

// before is how long to wait before a chunk that was read then.
func (p *pauses) before(at time.Time) time.Duration {
	gap := at.Sub(p.last)
	p.last = at
	if !at.Before(p.thawed) {
		return 0
	}
	gap = min(gap, p.left)
	p.left -= gap
	return gap
}
