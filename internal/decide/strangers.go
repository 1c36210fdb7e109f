package decide

import "fmt"

// beside adds to a reason who answers in the place of a member: without that, "one of
// three answers" sends a person to the wrong host.
func beside(c Case, err error) error {
	for _, m := range c.Snapshot.Strangers() {
		err = fmt.Errorf("%w; %w", err, m.Err)
	}
	return err
}
