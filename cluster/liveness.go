package cluster

// Liveness is what is known of a member's process now.
type Liveness string

const (
	Unknown Liveness = ""      // we cannot reach it; that alone never justifies a remove
	Alive   Liveness = "alive" // it answered, under its own ID
	Dead    Liveness = "dead"  // somebody who would know says that it does not run
)
