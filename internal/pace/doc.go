// Package pace paces what is repeated: what went wrong, and what takes its time.
package pace
