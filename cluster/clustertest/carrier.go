package clustertest

import (
	"fmt"
	"time"

	"github.com/etcdjoin/etcdjoin/cluster"
)

// carriers are the connections of the caller's client, one to each process: what is
// sent on one is read in order.
type carriers struct {
	carried     map[*process]int
	lastCarrier int
	held        map[cluster.Carrier]time.Time // until when something on it is still on its way
}

// carrier is the connection to the first of a target's endpoints that takes one;
// empty if none does.
func (c *Cluster) carrier(via cluster.Target) cluster.Carrier {
	for _, u := range c.endpoints(via) {
		if p := c.onClientURL(u); p != nil {
			if c.carried[p] == 0 {
				c.lastCarrier++
				c.carried[p] = c.lastCarrier
			}
			return cluster.Carrier(fmt.Sprintf("connection %d to %s", c.carried[p], p.id))
		}
	}
	return ""
}

// Reconnect loses all connections of the caller's client; the next calls open others.
// What was sent on them and is on its way arrives all the same.
func (c *Cluster) Reconnect() {
	c.with(func() { c.reconnect() })
}

func (c *Cluster) reconnect() { c.carried = map[*process]int{} }

// way is that of one write.
type way struct {
	c  *Cluster
	on cluster.Carrier
}

func (c *Cluster) wayTo(via cluster.Target) *way {
	w := &way{c: c}
	c.with(func() { w.on = c.carrier(via) })
	return w
}

// goesWrong lets a request that is late hold up what is sent after it, unless its
// connection is lost.
func (w *way) goesWrong(f Fault) {
	if f.Late <= 0 || w.on == "" {
		return
	}
	w.c.with(func() {
		if f.Reconnect {
			w.c.reconnect()
			return
		}
		w.c.held[w.on] = w.c.now.Add(f.Late)
	})
}

func (w *way) told(err error) error {
	return &cluster.WriteError{Sent: w.on != "", Carrier: w.on, Err: err}
}
