// Package reason holds every reason that an operation can end or wait for, and what a person is told of it.
package reason
