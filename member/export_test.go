package member

// Filled is a config as the engine sees it, with what zero means filled in.
func Filled(c Config) Config { return c.withDefaults() }
