// Package probe repeats one request to one server, so that whoever does not need the answer now never waits for it.
package probe
