package reason

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etcdjoin/etcdjoin/internal/peerurl"
)

// InputError is a wrong argument, refused before anything was asked or written.
type InputError struct {
	Field string // the argument or knob
	Value string
	Rule  string // what it breaks
}

func (e *InputError) Error() string {
	return fmt.Sprintf("etcdjoin: %s %q %s", e.Field, e.Value, e.Rule)
}

// badInput is what is told of it.
var badInput = Row{nil, "BadInput", Caller, "correct the argument that is named"}

func Input(field, value, rule string) error {
	return &InputError{Field: field, Value: value, Rule: rule}
}

// PeerURLs reads the caller's URLs by the rules of package peerurl.
func PeerURLs(urls []string) ([]peerurl.URL, error) {
	parsed, err := peerurl.ParseList(strings.Join(urls, ","))
	if err != nil {
		return nil, InputOf(err)
	}
	for _, u := range parsed {
		if u.Unix() {
			return nil, Input("peerURL", u.Raw(), "is a socket of one machine: no read through the member could be asked there, which its vote hangs on")
		}
	}
	return parsed, nil
}

// InputOf names the URL and the rule it breaks.
func InputOf(err error) error {
	var broken *peerurl.Error
	if !errors.As(err, &broken) {
		return err
	}
	rule := string(broken.Rule)
	if broken.Detail != "" {
		rule += ": " + broken.Detail
	}
	return Input("peerURL", broken.URL, rule)
}
