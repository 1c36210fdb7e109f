// Package classify says what an answer of etcd means. It is the only place that does.
package classify
