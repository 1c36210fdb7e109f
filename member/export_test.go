package member

// Voting is the old way's strategy.
var Voting Strategy = voting{}

// StrategyOf is how a joiner decides.
func StrategyOf(e *Engine) Strategy { return e.strategy }

// Filled is a config as the engine sees it, with what zero means filled in.
func Filled(c Config) Config { return c.withDefaults() }

// HintFor is what a person is told to do about an error.
func HintFor(err error) string { return hintFor(err) }
