package member

import (
	"github.com/etcdjoin/etcdjoin/cluster"
	"github.com/etcdjoin/etcdjoin/internal/reason"
)

// tellOfStrangers tells, each once, of the caller's endpoints that are not used, and of
// who answers in the place of another member. A stranger is no sign of life of that
// member, so a decision may come out otherwise than a person would expect.
func (r *run) tellOfStrangers(s cluster.Snapshot) {
	if len(r.urls) == 0 {
		return // a member is looked up: the run about it will tell
	}
	for _, text := range s.Unused {
		r.warnOnce(text, Event{Kind: Warned, Text: text})
	}
	for _, m := range s.Strangers() {
		text := m.Err.Error()
		r.warnOnce(text, Event{Kind: Warned, Member: &m.Member, Text: text, Err: reason.Discreet(m.Err)})
	}
}

func (r *run) warnOnce(about string, e Event) {
	if r.warned[about] {
		return
	}
	if r.warned == nil {
		r.warned = map[string]bool{}
	}
	r.warned[about] = true
	r.emit(e)
}
